import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { type BriefLocks, withBriefLocks } from "../postgres/briefLocks.ts";
import { lockOfCell } from "../postgres/cells.ts";
import { countInWindow, dailyScope } from "../postgres/countInWindow.ts";
import { firstIdAt } from "../postgres/ids.ts";
import { choreLockLimitMs, dayMs, dayName, dayOf, tablesById } from "../postgres/partitions.ts";
import { tryLock } from "../postgres/pool.ts";

/** Minimum number of days that idempotency keys are kept, after the day on which they were written. */
const keyDays = 1;
/** Maximum number of days dropped within 24 hours without an operator. One is usual; a wrong clock must not drop everything. */
const daysPerWindow = 2;
const advisoryLockKey = 7_281_934_013;
/** Pause between attempts to get the advisory lock for an operator. */
const lockPauseMs = 300;

export interface Retention {
  retentionDays: number;
  nowMs: number;
  cellNumber?: number;
  /** Whether an operator confirmed that all days past retention may be dropped, however many, and waits for locks. */
  isConfirmed?: boolean;
  /** Called repeatedly with what the operator waits for, as a text to follow "still". */
  onWait?: (what: string) => void;
}

export interface Dropped {
  partitions: number;
  /** Deliveries that ended with their items. */
  deliveries: number;
  /** Days of items past retention that were kept. */
  heldDays: number;
}

/** Groups of tables whose days are kept for the same time. */
const families = [
  { name: "items" as const, tables: tablesById as readonly string[] },
  { name: "keys" as const, tables: ["idempotency_keys"] },
];

type Family = (typeof families)[number]["name"];

/** A day past retention, with its partitions. */
export interface OldDay {
  family: Family;
  /** Days since 1970-01-01 UTC. */
  day: number;
  partitions: string[];
}

/**
 * Deletes data past retention by dropping partitions of whole days, oldest first, which costs the same for any number of rows.
 * Deliveries of those days that still wait (for example for a disabled target) end with their items. Drops at most two days
 * within 24 hours, counted in the database for all processes and restarts, unless an operator confirmed more. An advisory
 * lock allows one process at a time; in others the call does nothing.
 */
export async function dropOldPartitions(pool: pg.Pool, retention: Retention): Promise<Dropped> {
  const none = { partitions: 0, deliveries: 0, heldDays: 0 };
  if ((await listOldDays(pool, retention)).length === 0) return none;
  const { cellNumber = 0, isConfirmed = false } = retention;
  const lock = lockOfCell(advisoryLockKey, cellNumber);
  const limitMs = isConfirmed ? undefined : choreLockLimitMs;
  const client = await pool.connect();
  let isUnlocked = false;
  try {
    if (!(await takeLock(client, lock, retention))) return none;
    const dropped = { ...none };
    const full = new Set<Family>();
    // Listed again under the lock: another process may have dropped some days before.
    for (const old of await listOldDays(pool, retention)) {
      if (!isConfirmed && (full.has(old.family) || !(await mayDrop(pool, old.family, cellNumber)))) {
        full.add(old.family);
        if (old.family === "items") dropped.heldDays++;
        continue;
      }
      try {
        dropped.deliveries += old.family === "items" ? await endDeliveries(client, old.day) : 0;
        await dropTables({ client, pool, limitMs, onWait: retention.onWait }, old.partitions);
      } catch (error) {
        // A backup may lock tables for hours. A day that was not dropped must not count.
        if (!isConfirmed) await uncount(pool, old.family, cellNumber);
        throw error;
      }
      dropped.partitions += old.partitions.length;
    }
    await client.query("select pg_advisory_unlock($1)", [lock]);
    isUnlocked = true;
    return dropped;
  } finally {
    // After an error the lock ends with the session, shortly after the disconnect.
    client.release(!isUnlocked);
  }
}

/** Takes the advisory lock; for an operator, waits until it is free. @returns false when another process holds it. */
async function takeLock(
  client: pg.PoolClient,
  lock: number,
  { isConfirmed, onWait }: Retention,
): Promise<boolean> {
  for (;;) {
    if (await tryLock(client, lock, "session")) return true;
    if (isConfirmed !== true) return false;
    onWait?.("waiting for another process that drops expired days");
    await delay(lockPauseMs);
  }
}

/** The days past retention, for each family of tables the oldest first. */
export async function listOldDays(
  pool: pg.Pool,
  { retentionDays, nowMs }: Pick<Retention, "retentionDays" | "nowMs">,
): Promise<OldDay[]> {
  const today = Math.floor(nowMs / dayMs);
  const { rows } = await pool.query<{ parent: string; name: string }>(
    `select i.inhparent::regclass::text as parent, c.relname as name
     from pg_inherits i
     join pg_class c on c.oid = i.inhrelid
     join pg_class p on p.oid = i.inhparent
     where p.relkind = 'p'
       and c.relkind = 'r'
     order by c.relname`,
  );
  return families.flatMap(({ name: family, tables }) => {
    const firstKept = today - (family === "keys" ? keyDays : retentionDays);
    const old = rows.filter(
      ({ parent, name }) => tables.includes(parent) && name < `${parent}_${dayName(firstKept)}`,
    );
    const byDay = Map.groupBy(old, ({ name }) => dayOf(name));
    return [...byDay]
      .map(([day, ofDay]) => ({ family, day, partitions: ofDay.map(({ name }) => name) }))
      .sort((one, other) => one.day - other.day);
  });
}

/** Counts one day. @returns false, without counting, when the limit of the present 24 hours is reached. */
async function mayDrop(pool: pg.Pool, family: Family, cellNumber: number): Promise<boolean> {
  const window = { ...dailyScope, subject: subjectOf(family, cellNumber), limit: daysPerWindow };
  return (await countInWindow(pool, window)).isCounted;
}

async function uncount(pool: pg.Pool, family: Family, cellNumber: number): Promise<void> {
  await pool.query(
    `update rate_limits
     set hits = hits - 1
     where scope = $1
       and subject = $2
       and hits > 0`,
    [dailyScope.scope, subjectOf(family, cellNumber)],
  );
}

function subjectOf(family: Family, cellNumber: number): string {
  return `${family} of cell ${cellNumber}`;
}

const deliveriesPerStatement = 20_000;

/** Ends the waiting deliveries of a day and of all earlier days, in bounded steps. @returns the number of their items. */
async function endDeliveries(client: pg.PoolClient, day: number): Promise<number> {
  for (let total = 0; ;) {
    const { rows } = await client.query<{ deliveries: number; items: number }>(
      `with gone as (
         delete from deliveries
         where (bucket, id) in (
           select bucket, id
           from deliveries
           where event_ids[1] < $1
           limit $2
         )
         returning cardinality(event_ids) as items
       )
       select count(*)::integer as deliveries, coalesce(sum(items), 0)::integer as items
       from gone`,
      [firstIdAt((day + 1) * dayMs), deliveriesPerStatement],
    );
    const { deliveries, items } = rows[0]!;
    total += items;
    if (deliveries < deliveriesPerStatement) return total;
  }
}

/** Drops each table in a transaction of its own, because a drop locks the parent table, for reads too. */
async function dropTables(session: BriefLocks, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await withBriefLocks(session, () => session.client.query(`drop table if exists ${name}`));
  }
}
