import type pg from "pg";
import { periodOf } from "../../../src/billing/ledger.ts";

/* Rows of the ledger that only many items or a failing payment processor would create. */

/** Stores the usage of that many items in a month, without the items. */
export async function storeUsage(
  pool: pg.Pool,
  orgId: string,
  items: number,
  period: number = periodOf(Date.now()),
): Promise<void> {
  await pool.query("insert into usage_totals (org_id, period, items) values ($1, $2, $3)", [
    orgId,
    period,
    items,
  ]);
}

export interface StoredBatch {
  identifier: string;
  items: number;
  status: "attention" | "open";
  /** The processor's customer id. */
  customer: string;
}

/**
 * Stores batches of this month's usage that the processor has not settled; `attention` marks them for an operator.
 */
export async function storeBatches(
  pool: pg.Pool,
  orgId: string,
  batches: readonly StoredBatch[],
): Promise<void> {
  const period = periodOf(Date.now());
  const total = batches.reduce((sum, { items }) => sum + items, 0);
  await pool.query("insert into meter_counters (org_id, period, batches, batched) values ($1, $2, $3, $4)", [
    orgId,
    period,
    batches.length,
    total,
  ]);
  for (const { identifier, items, status, customer } of batches) {
    await pool.query(
      `insert into meter_batches
         (identifier, org_id, customer_id, period, value, event_timestamp, status, created_at, due_at, unsafe_at)
       values ($1, $2, $3, $4, $5, 1, $6, 1, 1, 1)`,
      [identifier, orgId, customer, period, items, status],
    );
  }
}
