import type pg from "pg";
import { withBriefLocks } from "../postgres/briefLocks.ts";
import { choreLockLimitMs, dayMs, dayName, tablesById } from "../postgres/partitions.ts";
import { firstIdAt } from "../postgres/ids.ts";

/** Days that idempotency keys are kept at least; the day they were written comes on top. */
const keyDays = 1;

export interface Retention {
  retentionDays: number;
  nowMs: number;
}

/**
 * Ends what is past retention by dropping whole days, which costs the same however much they hold. Deliveries
 * of those days that still wait (for a disabled target, say) end with their items.
 * @returns how many partitions were dropped, and how many deliveries ended with them.
 */
export async function dropOldPartitions(
  pool: pg.Pool,
  { retentionDays, nowMs }: Retention,
): Promise<{ partitions: number; deliveries: number }> {
  const today = Math.floor(nowMs / dayMs);
  const firstKept = today - retentionDays;
  const { rows } = await pool.query<{ parent: string; name: string }>(
    `select i.inhparent::regclass::text as parent, c.relname as name
     from pg_inherits i
     join pg_class c on c.oid = i.inhrelid
     join pg_class p on p.oid = i.inhparent
     where p.relkind = 'p'
       and c.relkind = 'r'`,
  );
  const old = rows.filter(({ parent, name }) => {
    const firstDay = parent === "idempotency_keys" ? today - keyDays : firstKept;
    const isOurs = parent === "idempotency_keys" || tablesById.some((table) => table === parent);
    return isOurs && name < `${parent}_${dayName(firstDay)}`;
  });
  if (old.length === 0) return { partitions: 0, deliveries: 0 };
  const { rows: ended } = await pool.query<{ items: number }>(
    `with gone as (
       delete from deliveries
       where event_ids[1] < $1
       returning cardinality(event_ids) as items
     )
     select coalesce(sum(items), 0)::integer as items
     from gone`,
    [firstIdAt(firstKept * dayMs)],
  );
  await dropTables(
    pool,
    old.map(({ name }) => name),
  );
  return { partitions: old.length, deliveries: ended[0]!.items };
}

/** Each in its own transaction: it locks the parent, for reads too. */
async function dropTables(pool: pg.Pool, names: readonly string[]): Promise<void> {
  const client = await pool.connect();
  const session = { client, pool, limitMs: choreLockLimitMs };
  try {
    for (const name of names) {
      await withBriefLocks(session, () => client.query(`drop table if exists ${name}`));
    }
  } finally {
    client.release();
  }
}
