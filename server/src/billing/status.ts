import type { BillingStatus } from "../postgres/tables.ts";

/** How long ingestion goes on after a failed invoice: three days. */
export const graceSeconds = 3 * 86_400;

/** The columns of an organization that say its billing state. */
export interface StoredStatus {
  billing_status: BillingStatus;
  /** Unix seconds; set exactly while `billing_status` is `grace`. */
  billing_grace_ends_at: number | null;
}

/** The billing state at a moment in Unix seconds: a grace that has lapsed reads as `suspended`, with no sweep. */
export function effectiveStatus(stored: StoredStatus, nowSeconds: number): BillingStatus {
  const { billing_status: status, billing_grace_ends_at: endsAt } = stored;
  return status === "grace" && endsAt !== null && endsAt <= nowSeconds ? "suspended" : status;
}

/** When the grace ends, in Unix seconds; null in every other state, a lapsed grace included. */
export function effectiveGraceEnd(stored: StoredStatus, nowSeconds: number): number | null {
  return effectiveStatus(stored, nowSeconds) === "grace" ? stored.billing_grace_ends_at : null;
}
