import type { KindNumber } from "./kind.ts";

/** An item as a request brought it, checked for its form and not yet for its sender. */
export interface NewItem {
  id: string;
  targetId: string;
  /** The API key as presented. */
  key: string;
  /** Whether it came in at `/e/`, where only webhook endpoints are found. */
  legacy: boolean;
  payload: Buffer;
  eventType: string | null;
  correlationId: string | null;
  orderingKey: string | null;
  idempotencyKey: string | null;
}

/**
 * What became of an item, as `accept_items` codes it: accepted (`A`: and leased to this node; `h`: and held until its
 * target is enabled), filtered, replayed, conflict, unauthorized, not found, mailbox disabled, too large, suspended,
 * pending.
 */
export type AcceptanceCode = "a" | "A" | "h" | "f" | "r" | "c" | "u" | "n" | "d" | "l" | "s" | "p";

export interface Acceptance {
  code: AcceptanceCode;
  /** The accepted item's id, or the first item's for a replayed key. */
  id: string;
  /** The row of `deliveries` that the item waits in, with others of its batch, unless it is a mailbox's. */
  rowId: string;
  kind: KindNumber;
  /** The version of the target that the item was accepted for. */
  targetVersion: number;
  /** The lease of an item that is `A`; one object for all items of a batch. */
  lease: HeldLease;
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
