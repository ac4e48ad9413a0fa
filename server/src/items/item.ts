import type { DeliveredKind, KindNumber } from "../postgres/kinds.ts";
import type { TraceContext } from "../telemetry/traceContext.ts";
import { randomInt } from "node:crypto";

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

export interface HeldLease extends Lease {
  /** When it ends, by the monotonic clock. */
  deadlineMs: number;
}

/** The lease tokens of one process: from `first` to `last`. */
export interface TokenRange {
  first: number;
  last: number;
}

/** A range and a token in it fill the 53 bits of a whole number. Any two processes share a range once in 17 million. */
const ranges = 2 ** 24;
const tokensPerRange = 2 ** 29;

/**
 * Tokens are random within a range of the process's own, so that the supervisor can end the leases of a process as soon as the
 * process has ended (see `endLeasesOf`).
 */
export function createLeaseTokens(): { range: TokenRange; next: () => number } {
  const first = randomInt(ranges) * tokensPerRange;
  return {
    range: { first, last: first + tokensPerRange - 1 },
    next: () => first + randomInt(tokensPerRange),
  };
}
