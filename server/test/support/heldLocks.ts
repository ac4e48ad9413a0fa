import pg from "pg";
import { onTestFinished } from "vitest";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/* Locks and sessions, by which tests stop the service at a certain statement or cut it off. */

/** Keeps everybody else from a table until it is let go, or the test ends. @returns lets it go, if that has not been done. */
export async function holdTable(pool: pg.Pool, table: string): Promise<() => Promise<void>> {
  const letGo = await hold(pool, `lock table ${table} in access exclusive mode`);
  onTestFinished(letGo);
  return letGo;
}

/** Keeps everybody else from writing to the rows with these columns, in the same way. */
export function holdRows(pool: pg.Pool, table: string, columns: Columns): Promise<() => Promise<void>> {
  const { condition, values } = rowsWhere(columns);
  return hold(pool, `select from ${table} where ${condition} for update`, values);
}

async function hold(pool: pg.Pool, statement: string, values: unknown[] = []): Promise<() => Promise<void>> {
  const client = await pool.connect();
  let isHeld = true;
  // The pool's sessions end after 15 s without a statement, which a slow machine needs for a start of the service.
  await client.query("begin; set local idle_in_transaction_session_timeout = 0");
  await client.query(statement, values);
  return async () => {
    if (!isHeld) return;
    isHeld = false;
    // Fails when the session was ended meanwhile.
    await client.query("rollback").finally(() => client.release());
  };
}

/** Keeps a transaction open that has read a table, so that nobody can change the table, until it is ended. */
export function holdReading(pool: pg.Pool, table: string): Promise<() => Promise<void>> {
  return hold(pool, `select from ${table} limit 1`);
}

/** Whether a session waits to change a table that another one is using. */
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

/** How many sessions of the database wait for a lock. */
export function countLockWaits(pool: pg.Pool): Promise<number> {
  return countSessions(pool, "wait_event_type", "Lock");
}

/** How many sessions of the database have a value in a column of `pg_stat_activity`. */
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

/** Keeps processes from bringing the schema up to date, as one that is at it does, until it is let go. */
export async function holdMigrations(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("select pg_advisory_lock(7281934001)");
  return () => client.end();
}
