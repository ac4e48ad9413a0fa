import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { areStillHeld, type LocksInTheWay, watchForLocks, wordsFor } from "./locksInTheWay.ts";

/** A session that changes tables while other sessions read and write them. */
export interface BriefLocks {
  client: pg.ClientBase;
  /** Pool for queries that find the holder of the lock while the session waits; without it the holder is not looked for. */
  pool?: pg.Pool;
  /**
   * Called after each failed try with a text to follow "still", such as "waiting for a lock". An error that it throws ends
   * the wait.
   */
  onWait?: ((what: string) => void) | undefined;
  /** No further try after this time; unlimited by default. */
  limitMs?: number | undefined;
}

/**
 * How long one statement waits for a lock. During the wait all other sessions that use the table queue behind it, even
 * readers. Shorter than PostgreSQL's deadlock_timeout of one second, so that a deadlock never aborts a client's request.
 */
const lockTimeoutMs = 200;
/** Pause between two tries, so that the statements that queued behind a try get their turn. */
const pauseMs = 300;
/** Longest pause, while the same sessions still hold the lock. */
const longestPauseMs = 10_000;

/**
 * Runs `work` in one transaction that waits only briefly for each lock, and is tried again until it gets all locks. So a long
 * transaction, such as that of a backup, delays the change but not the sessions that write. `work` may run more than once.
 * @throws the errors of `work`; after `limitMs` also the lock timeout (code 55P03) or the deadlock (40P01).
 */
export async function withBriefLocks<T>(session: BriefLocks, work: () => Promise<T>): Promise<T> {
  const { client, pool, onWait = () => undefined, limitMs = Infinity } = session;
  const deadlineMs = performance.now() + limitMs;
  let inTheWay: LocksInTheWay | undefined;
  for (;;) {
    await client.query("begin");
    const watch = pool && watchForLocks(pool, await sessionPid(client));
    try {
      if (inTheWay?.areMaintenance === true) await outwaitMaintenance(client, inTheWay.table);
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      const result = await work();
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback");
      if (!isLockMissing(error) || performance.now() > deadlineMs) throw error;
    } finally {
      inTheWay = watch?.end();
    }
    onWait(wordsFor(inTheWay));
    await pause(pool, inTheWay);
  }
}

/** The process id of a session's PostgreSQL backend. */
export async function sessionPid(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}

/**
 * Waits until a VACUUM, ANALYZE or index build has ended, with a lock that conflicts with no reader and no writer, and
 * prevents the next one until the transaction ends. PostgreSQL itself cancels an autovacuum for which a session has waited
 * for `deadlock_timeout`.
 */
async function outwaitMaintenance(client: pg.ClientBase, table: string): Promise<void> {
  await client.query(
    `select set_config(
       'lock_timeout',
       (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000 + 1000)::integer::text,
       true
     )`,
  );
  await client.query(`lock table only ${table} in share update exclusive mode`);
}

/** Whether a lock timed out, or PostgreSQL ended the transaction to resolve a deadlock. */
function isLockMissing(error: unknown): boolean {
  let cause = error;
  while (cause instanceof Error) {
    const { code } = cause as Error & { code?: string };
    if (code === "55P03" || code === "40P01") return true;
    cause = cause.cause;
  }
  return false;
}

/** Waits while the lock is known to be held, up to a limit, because each try delays readers and writers. */
async function pause(pool: pg.Pool | undefined, inTheWay: LocksInTheWay | undefined): Promise<void> {
  const endMs = performance.now() + longestPauseMs;
  await delay(pauseMs);
  // The next try waits for maintenance without delaying other sessions.
  if (pool === undefined || inTheWay === undefined || inTheWay.areMaintenance) return;
  while (performance.now() < endMs && (await areStillHeld(pool, inTheWay))) await delay(pauseMs);
}
