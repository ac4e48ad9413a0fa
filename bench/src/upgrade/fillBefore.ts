import type pg from "pg";
import { firstIdAt } from "../../../server/src/postgres/ids.ts";
import { dayMs, dayName } from "../../../server/src/postgres/partitions.ts";
import { fillPartitions } from "../../../server/test/support/manyEvents.ts";

/** Number of days with events before today. */
const days = 8;
/** Concurrent connections. */
const sessions = 2;

/**
 * Fills a database of the previous version with `count` events over nine days. Only tables that the run will write to are logged;
 * leaving the others unlogged halves the time.
 */
export async function fillBefore(pool: pg.Pool, count: number): Promise<void> {
  for (const table of await partitionedTables(pool)) await addDays(pool, table);
  await fillPartitions(pool, count, sessions);
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    // These targets have no receiver.
    await client.query("update targets set enabled = false");
    for (const table of await writtenTables(client)) await client.query(`alter table ${table} set logged`);
    await client.query("vacuum analyze deliveries, messages");
    await client.query("checkpoint");
  } finally {
    client.release(true);
  }
}

async function partitionedTables(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select partrelid::regclass::text as name from pg_partitioned_table",
  );
  return rows.map(({ name }) => name);
}

async function addDays(pool: pg.Pool, table: string): Promise<void> {
  const today = Math.floor(Date.now() / dayMs);
  for (let day = today - days; day < today; day++) {
    const bounds = [day, day + 1].map((bound) =>
      table === "idempotency_keys" ? bound : `'${firstIdAt(bound * dayMs)}'`,
    );
    await pool.query(
      `create table if not exists ${table}_${dayName(day)} partition of ${table}
       for values from (${bounds[0]}) to (${bounds[1]})
       with (autovacuum_analyze_scale_factor = 1, autovacuum_vacuum_insert_scale_factor = 1)`,
    );
  }
}

/** Unlogged tables that requests write to: all but the partitions of earlier days. */
async function writtenTables(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select oid::regclass::text as name
     from pg_class
     where relkind = 'r'
       and relpersistence = 'u'
       and (not relispartition or right(relname, 8) >= $1)`,
    [dayName(Math.floor(Date.now() / dayMs))],
  );
  return rows.map(({ name }) => name);
}
