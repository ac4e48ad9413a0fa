import type pg from "pg";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/*
 * Rows that nothing in the interface shows, for promises that something is not written, or that nothing of it is left. Whatever a
 * route, the audit log or `/metrics` says is asked there.
 */

/** How many rows a table has, or has with these columns. */
export async function countRows(pool: pg.Pool, table: string, columns: Columns = {}): Promise<number> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from ${table} where ${condition}`,
    values,
  );
  return rows[0]!.count;
}

/** The rows with the transactions that wrote and last locked them: the same as before if nothing has written to them. */
export async function rowVersions(pool: pg.Pool, table: string, columns: Columns): Promise<unknown[]> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query(
    `select xmin::text, xmax::text, to_jsonb(t) as row from ${table} t where ${condition}`,
    values,
  );
  if (rows.length === 0) throw new Error(`nothing in ${table} to compare`);
  return rows;
}

/** The number by which nodes notice that a target has changed. */
export async function versionOfTarget(pool: pg.Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ version: number }>("select version from targets where id = $1", [id]);
  return rows[0]!.version;
}

/** When a message becomes claimable on the database's clock: the interface says the second. */
export async function messageClaimableAtMs(pool: pg.Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ at: number }>("select claimable_at as at from messages where id = $1", [
    id,
  ]);
  return rows[0]!.at;
}

/** How many events the operational events are about that are noted and not told yet. */
export async function countNotedEvents(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select coalesce(sum(count), 0)::integer as count from operational_events",
  );
  return rows[0]!.count;
}

export interface ReplayWork {
  status: string;
  replayed: number;
  /** Whether a process is at work on it now. */
  leased: boolean;
}

/** How far a replay is, and whether it is being worked on. */
export async function workOnReplay(pool: pg.Pool, id: string): Promise<ReplayWork> {
  const { rows } = await pool.query<ReplayWork>(
    "select status, replayed, lease_token is not null as leased from replays where id = $1",
    [id],
  );
  return rows[0]!;
}

/** How many rows each table of the service has, partitions apart. */
export async function countEveryRow(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ name: string }>(
    `select c.relname as name
     from pg_class c
     where c.relnamespace = (select relnamespace from pg_class where oid = 'events'::regclass)
       and c.relkind = 'r'
     order by c.relname`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of rows) counts[name] = await countRows(pool, name);
  return counts;
}
