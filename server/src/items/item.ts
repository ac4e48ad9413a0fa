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
  /** Trace context for later spans; null when the request is not traced. */
  traceContext: TraceContext | null;
}

/** An item that is to be accepted. */
export interface NewItem extends NewContent {
  id: string;
  targetId: string;
  /** Whether the item was sent to `/e/`, where only webhook endpoints exist. */
  legacy: boolean;
  /** Whether the item matches the cached filter of its target; null if no filter is cached. */
  match: { filterDigest: string; isMatch: boolean } | null;
}

/** The outcome of an item: accepted, accepted before, or refused. */
export type Acceptance = LeasedItem | StoredItem | ReplayedKey | RefusedItem;

/** An item that was not stored, because its target's filter is not the one that the item was matched with. */
export interface UnmatchedItem {
  outcome: "filter_changed";
  /** The target's current filter as JSON; null when the target has none. */
  filter: string | null;
}

/** An item that is durable and leased to this node, which dispatches it from memory. */
export interface LeasedItem {
  outcome: "leased";
  id: string;
  kind: DeliveredKind;
  /** The row of `deliveries` that names the item, perhaps with others of its batch. */
  rowId: string;
  targetVersion: number;
  /** The same object for all items of a batch. */
  lease: HeldLease;
}

/**
 * A durable item and its state: `due`, any node may claim it; `held`, it waits until its target is enabled; `unread`, it waits
 * for a consumer; `filtered`, the target's filter ended it at once.
 */
export interface StoredItem {
  outcome: "due" | "held" | "unread" | "filtered";
  id: string;
  kind: KindNumber;
}

/** The idempotency key was used before with the same body. */
export interface ReplayedKey {
  outcome: "replayed";
  /** The id of the item that was accepted first. */
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

/** The lease under which a node dispatches items from memory that it has just accepted. */
export interface Lease {
  token: number;
  durationMs: number;
}

export interface HeldLease extends Lease {
  /** When the lease ends, by the monotonic clock. */
  deadlineMs: number;
}

/** The lease tokens of one process: from `first` to `last`. */
export interface TokenRange {
  first: number;
  last: number;
}

/** A range (24 bits) and a token in it (29 bits) make a 53-bit integer. Two processes have the same range once in 17 million. */
const ranges = 2 ** 24;
const tokensPerRange = 2 ** 29;

/**
 * Creates lease tokens at random within a range that belongs to this process, so that the supervisor can end the leases of a
 * process that has ended (see `endLeasesOf`).
 */
export function createLeaseTokens(): { range: TokenRange; next: () => number } {
  const first = randomInt(ranges) * tokensPerRange;
  return {
    range: { first, last: first + tokensPerRange - 1 },
    next: () => first + randomInt(tokensPerRange),
  };
}

/** The id of the process that has this lease token, for the database's rows about processes. */
export function nodeOf(token: number): string {
  return Math.floor(token / tokensPerRange)
    .toString(16)
    .padStart(32, "0");
}
