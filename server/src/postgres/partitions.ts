import type pg from "pg";
import { type BriefLocks, withBriefLocks } from "./briefLocks.ts";
import { cellSchemaPattern, unfinishedSchemaPattern } from "./cells.ts";
import { readDatabaseMs } from "./clock.ts";
import { firstIdAt } from "./ids.ts";
import { originOf } from "./movingPool.ts";
import { isPartitionMissing } from "./pool.ts";

/** Milliseconds of a UTC day. */
export const dayMs = 86_400_000;

/** Tables partitioned by a UUIDv7, whose days are ranges of ids. */
export const tablesById = [
  "events",
  "publications",
  "attempts",
  "delivered_groups",
  "settlements",
  "closed_messages",
  "handoffs",
] as const;
/** All that have a partition for each day. */
export const dailyTables = [...tablesById, "idempotency_keys"];
/** They have no primary key: logical replication has to name the whole row that an erasure changes. */
export const tablesWithoutKey: readonly string[] = ["attempts"];
/** How many days ahead partitions exist, so that an insert never fails for want of one. */
const daysAhead = 7;
/**
 * A partition is analyzed and vacuumed by autovacuum each time it has doubled: nothing in it changes, and what it holds is
 * not needed for long enough to be frozen early. By default it would be at every tenth and every fifth, which took more
 * than a tenth of PostgreSQL's time while the day's first million came in.
 */
const doubled = 1;

/** How long a chore tries to get its locks, before it leaves the rest to its next run. */
export const choreLockLimitMs = 30_000;

/** The same while somebody waits for it. */
const onTheSpotLockLimitMs = 3_000;

/**
 * Creates the daily partitions from yesterday to a week ahead that do not exist yet. Safe to run from many
 * processes at once. @param nowMs the database's clock unless told. @returns how many were created.
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
 * Runs `work`, and once more with the partitions of today when it failed for want of one: the machine may have slept for longer
 * than they are made ahead. `work` is one statement or one transaction.
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

/** Concurrent calls share one check. @returns how many were missing. */
export function makePartitionsNow(pool: pg.Pool): Promise<number> {
  const home = originOf(pool);
  let present = making.get(home);
  if (present === undefined) {
    present = ensurePartitions(home, undefined, onTheSpotLockLimitMs).finally(() => making.delete(home));
    making.set(home, present);
  }
  return present;
}

/** The same on a session of the caller's. */
export async function createPartitions(session: BriefLocks, nowMs?: number): Promise<number> {
  const missing = await missingPartitions(session.client, nowMs ?? (await readDatabaseMs(session.client)));
  // All of a partition in one transaction: nobody looks again at one that exists.
  for (const partition of missing) {
    await withBriefLocks(session, async () => {
      await createPartition(session.client, partition);
      // Again, now that a division cannot be under way: it has locked the tables until its end.
      if (await isLeftByDivision(session.client, partition.home)) throw new Error(divided);
    });
  }
  return missing.length;
}

const divided = "the database was divided into cells, and this process knows nothing of it: start it again";

/**
 * Whether the tables of a schema have no partitions because a division has moved the rows to cells. A process that does not know of
 * the division must find no partition for what it accepts, because no other process would look there.
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

/** The same in a transaction of the caller's, for tables that nobody else has seen yet. */
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

/** Gives the tables of a schema the days that those of another one have. The session finds both schemas' partitioned tables first in `to`. */
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
  // Citus refuses to set it for a table on a worker.
  if (!isCell(home)) await leaveOutOfStatistics(client, `${home}.${table}`, `${home}.${name}`);
  if (tablesWithoutKey.includes(table))
    await client.query(`alter table ${home}.${name} replica identity full`);
}

const cellPatterns = [new RegExp(cellSchemaPattern), new RegExp(unfinishedSchemaPattern)];

function isCell(schema: string): boolean {
  return cellPatterns.some((pattern) => pattern.test(schema));
}

/**
 * Gives a partition the columns that ANALYZE leaves out of its parent: no query has a condition on payloads or arrays, and
 * sorting and counting them would be most of its work. A partition does not inherit them. System columns, which have a
 * statistics target of 0 before PostgreSQL 17, cannot be altered.
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
 * The schema of the tables, quoted. A table created without it would land in the first schema of the search path, which is the
 * functions' schema and is dropped with them.
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

/** The day that a partition's name ends in, since 1970-01-01 UTC. */
export function dayOf(partition: string): number {
  const [year, month, day] = /(\d{4})(\d\d)(\d\d)$/.exec(partition)!.slice(1).map(Number);
  return Date.UTC(year!, month! - 1, day) / dayMs;
}

/** The part of a partition's name that says its day: `20261121`. */
export function dayName(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10).replaceAll("-", "");
}
