import type pg from "pg";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/* Time that has passed for what is stored, without a wait for it. */

/** The columns, in Unix seconds, by which rows grow old. */
const ages = {
  agent_cards: ["fetched_at", "refresh_at"],
  customers: ["created_at", "updated_at"],
  invitations: ["created_at", "expires_at"],
  password_resets: ["expires_at"],
  portal_links: ["expires_at"],
  portal_sessions: ["expires_at"],
  rate_limits: ["window_start"],
  sessions: ["created_at", "expires_at"],
  targets: ["created_at", "updated_at"],
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

/** Lets the time have come for the next attempt at an event that waits alone. */
export async function makeDue(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query("update deliveries set due_at = 0 where event_ids = array[$1::uuid]", [eventId]);
}

/** Ends all leases of items, as they end by themselves after a while, and lets every item be due. */
export async function endLeases(pool: pg.Pool): Promise<void> {
  await pool.query("update deliveries set lease_until = null, lease_token = null, due_at = 0");
}

/** Lets the minute be over in which more operational events of the same kind are gathered. */
export async function endPaces(pool: pg.Pool): Promise<void> {
  await pool.query("delete from notification_paces");
}

/** Ends the lease of a replay, if a process has it. */
export async function endReplayLease(pool: pg.Pool, id: string): Promise<void> {
  await pool.query("update replays set lease_until = 0 where id = $1 and lease_until is not null", [id]);
}

/** How many seconds are left, on the database's clock, until the row with these columns expires. */
export async function secondsLeft(
  pool: pg.Pool,
  table: "password_resets" | "sessions",
  columns: Columns,
): Promise<number> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query<{ left: number }>(
    `select expires_at - floor(extract(epoch from now()))::bigint as left from ${table} where ${condition}`,
    values,
  );
  if (rows.length !== 1) throw new Error(`${rows.length} rows in ${table} in place of one`);
  return rows[0]!.left;
}
