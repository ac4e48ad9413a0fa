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
