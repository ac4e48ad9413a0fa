import type pg from "pg";
import { type Columns, rowsWhere } from "./rowsWhere.ts";

/* Makes stored data older, without waiting. */

/** The columns, in Unix seconds, that determine the age of rows. */
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

/** Makes all rows of a table older by that many seconds, or only those with these columns. */
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

/** Makes the next attempt due at an event that is alone in its row. */
export async function makeDue(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query("update deliveries set due_at = 0 where event_ids = array[$1::uuid]", [eventId]);
}

/** Makes the last change of an agent's task older by that many seconds. */
export async function makeTaskOlder(pool: pg.Pool, eventId: string, seconds: number): Promise<void> {
  await pool.query("update handoffs set updated_at = updated_at - $2::bigint * 1000 where event_id = $1", [
    eventId,
    seconds,
  ]);
}

/** Makes the next poll of an agent's task due. */
export async function makePollDue(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query("update handoff_polls set due_at = 0 where event_id = $1", [eventId]);
}

/** Ends all leases of items, as if they had lapsed, and makes every item due. */
export async function endLeases(pool: pg.Pool): Promise<void> {
  await pool.query("update deliveries set lease_until = null, lease_token = null, due_at = 0");
}

/** Ends the minutes for which operational events wait now. A minute that begins when they are sent is kept. */
export async function endPaces(pool: pg.Pool): Promise<void> {
  await pool.query(
    "delete from notification_paces where target_id in (select target_id from operational_events)",
  );
}

/** Ends the lease of a replay, if a process holds it. */
export async function endReplayLease(pool: pg.Pool, id: string): Promise<void> {
  await pool.query("update replays set lease_until = 0 where id = $1 and lease_until is not null", [id]);
}

/** Seconds until the row with these columns expires, on the database's clock. */
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
