import type pg from "pg";
import { type BriefLocks, withBriefLocks } from "./briefLocks.ts";
import { cellSchemaPattern, unfinishedSchemaPattern } from "./cells.ts";
import { readDatabaseMs } from "./clock.ts";
import { firstIdAt } from "./ids.ts";
import { originOf } from "./movingPool.ts";
import { isPartitionMissing } from "./pool.ts";

/** Milliseconds of a UTC day. */
export const dayMs = 86_400_000;

/** Tables that are partitioned by a UUIDv7; each day is a range of ids. */
export const tablesById = [
  "events",
  "publications",
  "attempts",
  "delivered_groups",
  "settlements",
  "closed_messages",
  "handoffs",
] as const;
/** All tables with a partition for each day. */
export const dailyTables = [...tablesById, "idempotency_keys"];
/** Tables without a primary key: logical replication identifies the rows that an erasure changes by all their columns. */
export const tablesWithoutKey: readonly string[] = ["attempts"];
/** Number of days for which partitions exist in advance, so that inserts never fail because one is missing. */
const daysAhead = 7;
/**
 * Autovacuum analyzes and vacuums a partition each time it has doubled. Its rows do not change, and are dropped before they
 * need to be frozen. With the defaults (every tenth and every fifth of its rows), autovacuum took more than a tenth of
 * PostgreSQL's time while the day's first million rows were inserted.
 */
const doubled = 1;

const advisoryLockKey = 7_281_934_022;

/** How long a chore tries to get its locks before it leaves the remaining work to its next run. */
export const choreLockLimitMs = 30_000;

/** How long the same is tried while a request waits for it. */
const onTheSpotLockLimitMs = 3_000;

/**
 * Creates the missing daily partitions from yesterday to a week ahead. Safe to run from many processes at once. @param nowMs
 * the database's clock by default. @returns the number of created partitions.
 */
export async function ensurePartitions(
  pool: pg.Pool,
  nowMs?: number,
  limitMs: number = choreLockLimitMs,
): Promise<number> {
  const client = await pool.connect();
  try {
    return await createPartitions({ client, pool, limitMs }, nowMs);
  } finally {
    client.release();
  }
}

/**
 * Runs `work`. When it fails because today's partition is missing, creates the partitions and runs `work` again: the machine
 * may have slept for longer than partitions exist in advance. `work` is one statement or one transaction.
 */
export async function withPartitions<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isPartitionMissing(error)) throw error;
    await makePartitionsNow(pool);
    return await work();
  }
}

const making = new WeakMap<pg.Pool, Promise<number>>();

/** Creates missing partitions at once; concurrent calls share one run. @returns the number of created partitions. */
export function makePartitionsNow(pool: pg.Pool): Promise<number> {
  const home = originOf(pool);
  let present = making.get(home);
  if (present === undefined) {
    present = ensurePartitions(home, undefined, onTheSpotLockLimitMs).finally(() => making.delete(home));
    making.set(home, present);
  }
  return present;
}

/** Like {@link ensurePartitions}, on a session of the caller. */
export async function createPartitions(session: BriefLocks, nowMs?: number): Promise<number> {
  const missing = await missingPartitions(session.client, nowMs ?? (await readDatabaseMs(session.client)));
  // Each partition is created completely in one transaction, because an existing partition is never checked again.
  for (const partition of missing) {
    await withBriefLocks(session, async () => {
      // `if not exists` fails if another session creates the same table at the same time, as at midnight.
      await session.client.query("select pg_advisory_xact_lock($1)", [advisoryLockKey]);
      await createPartition(session.client, partition);
      // Checked again now that no division can be in progress: a division locks the tables until its end.
      if (await isLeftByDivision(session.client, partition.home)) throw new Error(divided);
    });
  }
  return missing.length;
}

const divided = "the database was divided into cells while this process was running: restart the process";

/**
 * Whether the tables of a schema have no partitions because a division has moved the rows to cells. A process that does not
 * know of the division must find no partition for items that it accepts, because no other process would look for them there.
 */
async function isLeftByDivision(client: pg.ClientBase, home: string): Promise<boolean> {
  const { rows } = await client.query<{ is_left: boolean }>(
    `select not $1 ~ $2
       and not $1 ~ $3
       and exists (select from pg_namespace where nspname ~ $2) as is_left`,
    [home, cellSchemaPattern, unfinishedSchemaPattern],
  );
  return rows[0]!.is_left;
}

/** Creates the missing partitions in a transaction of the caller, for tables that no other session can see yet. */
export async function createFirstPartitions(client: pg.ClientBase): Promise<void> {
  const missing = await missingPartitions(client, await readDatabaseMs(client));
  for (const partition of missing) await createPartition(client, partition);
}

async function missingPartitions(client: pg.ClientBase, nowMs: number): Promise<Partition[]> {
  const today = Math.floor(nowMs / dayMs);
  const { rows } = await client.query<{ relname: string }>(
    `select c.relname
     from pg_inherits i
     join pg_class c on c.oid = i.inhrelid
     where i.inhparent = any ($1::regclass[])`,
    [dailyTables],
  );
  const home = await tableSchema(client);
  if (await isLeftByDivision(client, home)) return [];
  const existing = new Set(rows.map((row) => row.relname));
  const missing: Partition[] = [];
  for (let day = today - 1; day <= today + daysAhead; day++) {
    for (const table of dailyTables)
      if (!existing.has(`${table}_${dayName(day)}`)) missing.push({ home, table, day });
  }
  return missing;
}

/**
 * Creates the partitions of one schema's tables for the days that exist in another schema. In the session's search path, `to`
 * comes first.
 */
export async function copyPartitions(client: pg.ClientBase, from: string, to: string): Promise<void> {
  for (const { table, source } of await storedTables(client, from, dailyTables))
    await createPartition(client, { home: to, table, day: dayOf(source) });
}

/** The relations that store the rows of a schema's tables: the partitions, or the table itself. */
export async function storedTables(
  client: pg.ClientBase,
  schema: string,
  tables: readonly string[],
): Promise<{ table: string; source: string }[]> {
  const { rows } = await client.query<{ table: string; source: string }>(
    `select p.relname as table, coalesce(c.relname, p.relname) as source
     from pg_class p
     left join pg_inherits i on i.inhparent = p.oid
     left join pg_class c on c.oid = i.inhrelid
     where p.relnamespace = $1::regnamespace
       and p.relname = any ($2::text[])
       and (p.relkind = 'r' or c.oid is not null)
     order by array_position($2::text[], p.relname::text), source`,
    [schema, tables],
  );
  return rows;
}

interface Partition {
  home: string;
  table: string;
  /** Days since 1970-01-01 UTC. */
  day: number;
}

async function createPartition(client: pg.ClientBase, { home, table, day }: Partition): Promise<void> {
  const name = `${table}_${dayName(day)}`;
  const [from, to] =
    table === "idempotency_keys"
      ? [String(day), String(day + 1)]
      : [`'${firstIdAt(day * dayMs)}'`, `'${firstIdAt((day + 1) * dayMs)}'`];
  await client.query(
    `create table if not exists ${home}.${name} partition of ${home}.${table}
     for values from (${from}) to (${to})
     with (
       autovacuum_analyze_scale_factor = ${doubled},
       autovacuum_vacuum_insert_scale_factor = ${doubled}
     )`,
  );
  // Citus refuses to set statistics targets for a table on a worker.
  if (!isCell(home)) await leaveOutOfStatistics(client, `${home}.${table}`, `${home}.${name}`);
  if (tablesWithoutKey.includes(table))
    await client.query(`alter table ${home}.${name} replica identity full`);
}

const cellPatterns = [new RegExp(cellSchemaPattern), new RegExp(unfinishedSchemaPattern)];

function isCell(schema: string): boolean {
  return cellPatterns.some((pattern) => pattern.test(schema));
}

/**
 * Excludes from a partition's statistics the columns that its parent excludes; partitions do not inherit this. No query has a
 * condition on payloads or arrays, and sorting and counting them would be most of the work of ANALYZE. System columns, which
 * have a statistics target of 0 before PostgreSQL 17, cannot be altered.
 */
async function leaveOutOfStatistics(client: pg.ClientBase, parent: string, partition: string): Promise<void> {
  const { rows } = await client.query<{ alterations: string | null }>(
    `select string_agg(format('alter column %I set statistics 0', a.attname), ', ' order by a.attnum) as alterations
     from pg_attribute a
     where a.attrelid = $1::regclass
       and a.attnum > 0
       and a.attstattarget = 0
       and not a.attisdropped`,
    [parent],
  );
  const { alterations } = rows[0]!;
  if (alterations !== null) await client.query(`alter table ${partition} ${alterations}`);
}

/**
 * The schema of the tables, quoted. A table created without a schema would be in the first schema of the search path, which
 * is the functions' schema and is dropped with the functions.
 */
export async function tableSchema(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ home: string }>(
    `select quote_ident(n.nspname) as home
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     where c.oid = 'events'::regclass`,
  );
  return rows[0]!.home;
}

/** The day at the end of a partition's name, in days since 1970-01-01 UTC. */
export function dayOf(partition: string): number {
  const [year, month, day] = /(\d{4})(\d\d)(\d\d)$/.exec(partition)!.slice(1).map(Number);
  return Date.UTC(year!, month! - 1, day) / dayMs;
}

/** The part of a partition's name that says its day: `20261121`. */
export function dayName(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10).replaceAll("-", "");
}
