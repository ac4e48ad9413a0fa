import type pg from "pg";
import { lockOfCell } from "../postgres/cells.ts";
import { inTransaction, tryLock } from "../postgres/pool.ts";
import { repeatWhileFull } from "../runtime/repeatWhileFull.ts";

const advisoryLockKey = 7_281_934_005;
const defaultAtOnce = 50_000;

/**
 * Moves the ledger's records into the monthly totals, so that summing a month reads only a few rows. A record is counted
 * in exactly one of the two tables at any moment, also after a crash. An advisory lock allows one process at a time; in
 * others the call returns at once.
 * @param recordsAtOnce maximum number of records that one transaction moves.
 * @returns the number of moved records.
 */
export function foldUsage(
  pool: pg.Pool,
  { cellNumber = 0, recordsAtOnce = defaultAtOnce }: { cellNumber?: number; recordsAtOnce?: number } = {},
): Promise<number> {
  const lockKey = lockOfCell(advisoryLockKey, cellNumber);
  return repeatWhileFull(recordsAtOnce, () => fold(pool, lockKey, recordsAtOnce));
}

function fold(pool: pg.Pool, lockKey: number, limit: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    if (!(await tryLock(client, lockKey, "transaction"))) return 0;
    const { rows } = await client.query<{ org_id: string; period: number; items: number; records: number }>({
      name: "take_usage",
      text: `with moved as (
               delete from usage_records
               where ctid = any (array(select ctid from usage_records limit $1))
               returning org_id, period, items
             )
             select org_id, period, sum(items)::bigint as items, count(*) as records
             from moved
             group by org_id, period`,
      values: [limit],
    });
    if (rows.length === 0) return 0;
    await client.query({
      name: "add_usage",
      text: `insert into usage_totals (org_id, period, items)
             select m.org_id, m.period, m.items
             from unnest($1::uuid[], $2::integer[], $3::bigint[]) as m (org_id, period, items)
             on conflict (org_id, period) do update
             set items = usage_totals.items + excluded.items`,
      values: [rows.map((row) => row.org_id), rows.map((row) => row.period), rows.map((row) => row.items)],
    });
    return rows.reduce((sum, { records }) => sum + records, 0);
  });
}
