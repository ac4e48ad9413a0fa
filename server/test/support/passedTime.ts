import type pg from "pg";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/* Time that has passed for what is stored, without a wait for it. */

/** The columns, in Unix seconds, by which rows grow old. */
const ages = {
  agent_cards: ["fetched_at", "refresh_at"],
  invitations: ["created_at", "expires_at"],
  password_resets: ["expires_at"],
  portal_links: ["expires_at"],
  portal_sessions: ["expires_at"],
  rate_limits: ["window_start"],
  sessions: ["created_at", "expires_at"],
};

/** Makes all rows of a table so many seconds older, or those with these columns. */
export async function makeOlder(
  pool: pg.Pool,
  seconds: number,
  table: keyof typeof ages,
  columns: Columns = {},
): Promise<void> {
  const { condition, values } = rowsWhere(columns, 2);
  const changes = ages[table].map((column) => `${column} = ${column} - $1`);
  const { rowCount } = await pool.query(`update ${table} set ${changes.join(", ")} where ${condition}`, [
    seconds,
    ...values,
  ]);
  if (rowCount === 0) throw new Error(`nothing in ${table} to make older`);
}

/** How many seconds are left, on the database's clock, until the row with these columns expires. */
export async function secondsLeft(
  pool: pg.Pool,
  table: "password_resets" | "sessions",
  columns: Columns,
): Promise<number> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query<{ left: number }>(
    `select expires_at - extract(epoch from now())::bigint as left from ${table} where ${condition}`,
    values,
  );
  if (rows.length !== 1) throw new Error(`${rows.length} rows in ${table} in place of one`);
  return rows[0]!.left;
}
