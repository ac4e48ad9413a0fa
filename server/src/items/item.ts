import { type DeliveredKind, type KindNumber } from "../postgres/kinds.ts";
import type { TraceContext } from "../telemetry/traceContext.ts";

/** The content of a request, after validation and before authorization. */
export interface NewContent {
  /** The API key as presented. */
  key: string;
  payload: Buffer;
  eventType: string | null;
  correlationId: string | null;
  orderingKey: string | null;
  idempotencyKey: string | null;
  /** Where its trace goes on; null when it is not traced. */
  traceContext: TraceContext | null;
}

/** The same as an item. */
export interface NewItem extends NewContent {
  id: string;
  targetId: string;
  /** Whether it came in at `/e/`, where only webhook endpoints are found. */
  legacy: boolean;
  /** Whether it matches the filter that its target was last seen with; null where no filter is known. */
  match: { filterDigest: string; isMatch: boolean } | null;
}

/** The outcome of an item: accepted, accepted before, or refused. */
export type Acceptance = LeasedItem | StoredItem | ReplayedKey | RefusedItem;

/** An item that was not stored, because its target's filter is another than the one it was matched with. */
export interface UnmatchedItem {
  outcome: "filter_changed";
  /** The target's filter as JSON; null when the target has none any more. */
  filter: string | null;
}

/** An item that is durable and leased to this node, which dispatches it from memory. */
export interface LeasedItem {
  outcome: "leased";
  id: string;
  kind: DeliveredKind;
  /** The row of `deliveries` that the item waits in, with others of its batch. */
  rowId: string;
  /** The version of the target that the item was accepted for. */
  targetVersion: number;
  /** One object for all items of a batch. */
  lease: HeldLease;
}

/**
 * A durable item and its state: `due`, any node may claim it; `held` until its target is enabled; `unread`, waiting for a
 * consumer; `filtered`, ended at once by the target's filter.
 */
export interface StoredItem {
  outcome: "due" | "held" | "unread" | "filtered";
  id: string;
  kind: KindNumber;
}

/** The idempotency key was used before with the same body. */
export interface ReplayedKey {
  outcome: "replayed";
  /** The first item's. */
  id: string;
  kind: KindNumber;
}

/** An item that was not stored. */
export interface RefusedItem {
  outcome:
    | "unauthorized"
    | "not_found"
    | "idempotency_conflict"
    | "mailbox_disabled"
    | "too_large"
    | "suspended"
    | "pending";
}

/** The lease under which a node dispatches from memory what it has just accepted. */
export interface Lease {
  token: number;
  durationMs: number;
}

/** A lease that has begun. */
export interface HeldLease extends Lease {
  /** When it ends, by the monotonic clock. */
  deadlineMs: number;
}
