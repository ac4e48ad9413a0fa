import { idTimeMs } from "../postgres/ids.ts";

/** The types of changes, by the names of their server-sent events. */
export type ChangeType = "item" | "attempt" | "target" | "mailbox" | "handoff";

/** A change, in the fields of the interface; times are Unix seconds. */
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
  /** The target or its health has changed: clients should read it again. */
  | { type: "target"; data: { id: string } }
  /** Messages arrived, were claimed or ended: clients should read the mailbox again. */
  | { type: "mailbox"; data: { id: string } }
  | { type: "handoff"; data: { event_id: string; target_id: string } };

/** The change of an item that was accepted or canceled. */
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
 * The interface by which features report changes to event streams. Nothing waits for or depends on it. A change that no client
 * watches is dropped, and while no client watches anything, reporting costs one check of a flag.
 */
export interface Changes {
  /** Whether any client watches any organization. Callers check it before they build a change. */
  isWatched(): boolean;
  /** Whether any client watches the organization of this target. Callers check it where each item makes a change. */
  isTargetWatched(targetId: string): boolean;
  /** Publishes a change of a target. The caller need not know the organization. */
  publish(targetId: string, change: Change): void;
  /** Publishes a change of a target that may have just been created. */
  publishTarget(orgId: string, targetId: string): void;
}
