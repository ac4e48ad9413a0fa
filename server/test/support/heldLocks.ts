import pg from "pg";
import { onTestFinished } from "vitest";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/* Locks and sessions with which tests stop the service at a certain statement or disconnect it. */

/**
 * Locks a table exclusively until it is released, or the test ends.
 * @returns a function that releases the lock, if it is still held.
 */
export async function holdTable(pool: pg.Pool, table: string): Promise<() => Promise<void>> {
  const letGo = await hold(pool, `lock table ${table} in access exclusive mode`);
  onTestFinished(letGo);
  return letGo;
}

/** Locks the rows with these columns against writes, until they are released or the test ends. */
export function holdRows(pool: pg.Pool, table: string, columns: Columns): Promise<() => Promise<void>> {
  const { condition, values } = rowsWhere(columns);
  return hold(pool, `select from ${table} where ${condition} for update`, values);
}

async function hold(pool: pg.Pool, statement: string, values: unknown[] = []): Promise<() => Promise<void>> {
  const client = await pool.connect();
  let isHeld = true;
  // The pool's sessions would end after 15 s without a statement; a slow machine needs longer for a start of the
  // service.
  await client.query("begin; set local idle_in_transaction_session_timeout = 0");
  await client.query(statement, values);
  return async () => {
    if (!isHeld) return;
    isHeld = false;
    // Fails when the session was ended meanwhile.
    await client.query("rollback").finally(() => client.release());
  };
}

/**
 * Keeps a transaction open that has read a table, so that the table's definition cannot change, until it is
 * released.
 */
export function holdReading(pool: pg.Pool, table: string): Promise<() => Promise<void>> {
  return hold(pool, `select from ${table} limit 1`);
}

/** Whether a session waits for a lock to change a table. */
export async function isLockAwaited(pool: pg.Pool, table: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select
     from pg_locks
     where not granted
       and mode = 'AccessExclusiveLock'
       and relation = $1::regclass`,
    [table],
  );
  return rowCount! > 0;
}

/** Number of the database's sessions that wait for a lock. */
export function countLockWaits(pool: pg.Pool): Promise<number> {
  return countSessions(pool, "wait_event_type", "Lock");
}

/** Number of the database's sessions with a value in a column of `pg_stat_activity`. */
export async function countSessions(
  pool: pg.Pool,
  column: "wait_event_type" | "application_name",
  value: string,
): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count
     from pg_stat_activity
     where datname = current_database()
       and ${column} = $1`,
    [value],
  );
  return rows[0]!.count;
}

/** Holds the migration lock, as a migrating process does, until it is released. */
export async function holdMigrations(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("select pg_advisory_lock(7281934001)");
  return () => client.end();
}
