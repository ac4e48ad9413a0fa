import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { objectOf } from "../customers/store.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { noneNamed } from "../http/contract/errors.ts";
import { inTransaction } from "../postgres/pool.ts";
import { holdCustomer } from "./holdCustomer.ts";

/** Ends one session. */
export function endPortalSession(
  pool: pg.Pool,
  origin: Origin,
  { scope, tokenHash }: Extract<Caller, { kind: "portal" }>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    const customer = await holdCustomer(client, { orgId: origin.orgId, uid: scope.customerUid });
    const { rowCount } = await client.query({
      name: "end_portal_session",
      text: `delete from portal_sessions
             where token_hash = $1`,
      values: [tokenHash],
    });
    if (customer === undefined || rowCount === 0) return;
    await recordChange(client, origin, { action: "portal_session.ended", object: objectOf(customer) });
  });
}

/** Ends all sessions of a customer, and its links that nobody has opened. @throws {ApiError} 404 */
export function endPortalSessions(
  pool: pg.Pool,
  origin: Origin,
  uid: string,
): Promise<{ sessions: number; links: number }> {
  return inTransaction(pool, async (client) => {
    const customer = await holdCustomer(client, { orgId: origin.orgId, uid });
    if (customer === undefined) throw noneNamed("customer", uid);
    const { rows } = await client.query<{ sessions: number; links: number }>({
      name: "end_portal_sessions",
      text: `with sessions as (
               delete from portal_sessions
               where org_id = $1
                 and customer_uid = $2
               returning 1
             ),
             links as (
               delete from portal_links
               where org_id = $1
                 and customer_uid = $2
               returning 1
             )
             select (select count(*) from sessions) as sessions, (select count(*) from links) as links`,
      values: [origin.orgId, uid],
    });
    const ended = rows[0]!;
    if (ended.sessions + ended.links > 0) {
      await recordChange(client, origin, {
        action: "portal_sessions.ended",
        object: objectOf(customer),
        before: { ...ended },
      });
    }
    return ended;
  });
}

/** Forgets links and sessions that have expired, which nobody accepts anyway. @returns how many. */
export async function sweepPortals(pool: pg.Pool): Promise<number> {
  let swept = 0;
  for (const table of ["portal_links", "portal_sessions"]) {
    const { rowCount } = await pool.query(
      `delete from ${table}
       where expires_at <= extract(epoch from now())`,
    );
    swept += rowCount ?? 0;
  }
  return swept;
}
