/** Behaviour of a peer agent; the defaults give a plain, healthy agent. */
export interface AgentOptions {
  /** 0 chooses a free port. */
  port?: number;
  /** The bearer token that every request of the protocol must carry. */
  token?: string;
  tenant?: string;
  /** Whether its card offers push notifications and the agent sends them. */
  pushNotifications?: boolean;
  /** Whether the agent has a task list; without one it answers 404. */
  taskList?: "present" | "absent";
  /** Fields that replace those of its card. */
  card?: Record<string, unknown>;
  /** Path of the interface. */
  path?: string;
  /** A file in which tasks survive the process. */
  storePath?: string;
}

/** A request that the agent has received. */
export interface SeenRequest {
  method: string;
  path: string;
  authorization: string | null;
  version: string | null;
  extensions: string | null;
  traceparent: string | null;
  /** The parsed body of `message:send`. */
  body: { message?: SentMessage; configuration?: Record<string, unknown>; tenant?: string } | null;
}

export interface SentMessage {
  messageId: string;
  role: string;
  taskId?: string;
  contextId?: string;
  parts: Record<string, unknown>[];
  metadata: Record<string, unknown>;
}

/** The requests that the agent has received, and its tasks. */
export interface AgentReport {
  requests: SeenRequest[];
  /** Ids of the tasks it has started. */
  tasks: string[];
  /** Number of requests for its card, and of the conditional ones among them. */
  cardReads: number;
  conditionalReads: number;
}
