import type pg from "pg";
import { nodeOf, type TokenRange } from "../../items/item.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { returnShares } from "./permits.ts";

/** Makes deliveries due again whose node died or exceeded its lease. @returns the number of these deliveries. */
export async function sweepDeliveries(pool: pg.Pool): Promise<number> {
  const rows = await callFunction(pool, "sweep_deliveries", {});
  return rows[0]!.sweep_deliveries!;
}

/**
 * Ends all leases at once. Only valid at the start of a service that uses the database alone: every lease then belongs to a
 * process that no longer runs.
 */
export async function endAllLeases(pool: pg.Pool): Promise<number> {
  await pool.query("delete from target_shares");
  return endLeasesOf(pool, allTokens);
}

const allTokens: TokenRange = { first: 0, last: Number.MAX_SAFE_INTEGER };

/**
 * Ends the leases and the shares of a process. The process must certainly have ended, because an item that it still sends would be
 * sent twice.
 * @returns the number of items that are due again.
 */
export async function endLeasesOf(pool: pg.Pool, { first, last }: TokenRange): Promise<number> {
  await returnShares(pool, nodeOf(first));
  await pool.query(
    `update handoff_polls
     set lease_until = null,
       lease_token = null
     where lease_until is not null
       and lease_token between $1 and $2`,
    [first, last],
  );
  const { rows } = await pool.query<{ items: number }>(
    `with freed as (
       update deliveries
       set lease_until = null,
         lease_token = null
       where lease_until is not null
         and lease_token between $1 and $2
       returning cardinality(event_ids) as items
     )
     select coalesce(sum(items), 0)::integer as items
     from freed`,
    [first, last],
  );
  return rows[0]!.items;
}
