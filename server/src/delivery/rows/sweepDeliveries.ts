import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";

/** Makes deliveries due again whose node died, or stalled past its lease. @returns how many there were. */
export async function sweepDeliveries(pool: pg.Pool): Promise<number> {
  const rows = await callFunction(pool, "sweep_deliveries", {});
  return rows[0]!.sweep_deliveries!;
}

/**
 * Ends every lease at once. Only for a service that has the database to itself and has just started: whatever is
 * leased then belongs to a process that is gone.
 */
export async function endAllLeases(pool: pg.Pool): Promise<number> {
  await pool.query(
    "update handoff_polls set lease_until = null, lease_token = null where lease_until is not null",
  );
  await pool.query("delete from target_shares");
  const { rows } = await pool.query<{ items: number }>(
    `with freed as (
       update deliveries
       set lease_until = null,
         lease_token = null
       where lease_until is not null
       returning cardinality(event_ids) as items
     )
     select coalesce(sum(items), 0)::integer as items
     from freed`,
  );
  return rows[0]!.items;
}
