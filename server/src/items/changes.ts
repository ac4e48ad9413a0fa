import { idTimeMs } from "../postgres/ids.ts";

/** The types of changes, by the names of their server-sent events. */
export type ChangeType = "item" | "attempt" | "target" | "mailbox" | "handoff";

/** A change, in the terms of the interface; moments are Unix seconds. */
export type Change =
  | {
      type: "item";
      data: {
        id: string;
        target_id: string;
        event_type: string | null;
        status: "QUEUED" | "UNREAD" | "FILTERED" | "CANCELED";
        created_at: number;
      };
    }
  | {
      type: "attempt";
      data: {
        event_id: string;
        target_id: string;
        number: number;
        status_code: number;
        duration_ms: number;
        error: string | null;
        outcome: "delivered" | "retrying" | "failed";
        next_attempt_at: number | null;
      };
    }
  /** The target, or what the service knows of its receiver, is to be read again. */
  | { type: "target"; data: { id: string } }
  /** Messages came, were claimed or ended: the mailbox is to be read again. */
  | { type: "mailbox"; data: { id: string } }
  | { type: "handoff"; data: { event_id: string; target_id: string } };

/** An item was accepted, or canceled. */
export function itemChange(item: {
  id: string;
  targetId: string;
  eventType: string | null;
  status: Extract<Change, { type: "item" }>["data"]["status"];
}): Change {
  const { id, targetId, eventType, status } = item;
  const createdAt = Math.floor(idTimeMs(id) / 1000);
  return {
    type: "item",
    data: { id, target_id: targetId, event_type: eventType, status, created_at: createdAt },
  };
}

/**
 * Where features report changes. Nothing waits for it and nothing depends on it: a change that nobody watches is
 * forgotten, and while nobody watches anything all of it costs one look at a flag.
 */
export interface Changes {
  /** Whether somebody watches some organization: to be asked before a change is put together. */
  isWatched(): boolean;
  /** Whether somebody watches the organization of this target: to be asked where there is one change an item. */
  isTargetWatched(targetId: string): boolean;
  /** Publishes a change of a target whose organization the caller does not know. */
  publish(targetId: string, change: Change): void;
  /** Publishes a change of a target that may have just been created. */
  publishTarget(orgId: string, targetId: string): void;
}
