/** How a peer agent is to behave; everything has a default that makes a plain, healthy agent. */
export interface AgentOptions {
  /** 0 takes any free one. */
  port?: number;
  /** The bearer that every request of the protocol must carry. */
  token?: string;
  tenant?: string;
  /** Whether its card offers push notifications, and whether it sends them. */
  pushNotifications?: boolean;
  /** The answer of its task list: the list, or 404 for an agent without one. */
  taskList?: "present" | "absent";
  /** Fields that replace those of its card. */
  card?: Record<string, unknown>;
  /** The interface's path. */
  path?: string;
  /** A file in which tasks survive the process. */
  storePath?: string;
}

/** A request that the agent has seen. */
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

/** The agent's progress. */
export interface AgentReport {
  requests: SeenRequest[];
  /** Tasks it has begun. */
  tasks: string[];
  /** Times its card was asked for, and the conditional ones among them. */
  cardReads: number;
  conditionalReads: number;
}
