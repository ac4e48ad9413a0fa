import type pg from "pg";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/*
 * Rows that the interface does not show, for promises that something is not written, or is removed completely.
 * Tests read everything else through routes, the audit log or `/metrics`.
 */

/** Number of rows of a table, or of those with these columns. */
export async function countRows(pool: pg.Pool, table: string, columns: Columns = {}): Promise<number> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count from ${table} where ${condition}`,
    values,
  );
  return rows[0]!.count;
}

/** The rows with the transactions that wrote and last locked them: unchanged if nothing has written to them. */
export async function rowVersions(pool: pg.Pool, table: string, columns: Columns): Promise<unknown[]> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query(
    `select xmin::text, xmax::text, to_jsonb(t) as row from ${table} t where ${condition}`,
    values,
  );
  if (rows.length === 0) throw new Error(`nothing in ${table} to compare`);
  return rows;
}

/** The version number with which nodes detect that a target has changed. */
export async function versionOfTarget(pool: pg.Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ version: number }>("select version from targets where id = $1", [id]);
  return rows[0]!.version;
}

/** When a message becomes claimable, milliseconds on the database's clock: the interface shows only seconds. */
export async function messageClaimableAtMs(pool: pg.Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ at: number }>("select claimable_at as at from messages where id = $1", [
    id,
  ]);
  return rows[0]!.at;
}

/** Number of events that the recorded, unsent operational events are about. */
export async function countNotedEvents(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select coalesce(sum(count), 0)::integer as count from operational_events",
  );
  return rows[0]!.count;
}

export interface ReplayWork {
  status: string;
  replayed: number;
  /** Whether a process is working on it now. */
  leased: boolean;
}

/** The progress of a replay, and whether a process is working on it. */
export async function workOnReplay(pool: pg.Pool, id: string): Promise<ReplayWork> {
  const { rows } = await pool.query<ReplayWork>(
    "select status, replayed, lease_token is not null as leased from replays where id = $1",
    [id],
  );
  return rows[0]!;
}

/** Number of rows of each table of the service, without partitions. */
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
