import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { type CustomerKey, objectOf } from "../customers/store.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { inTransaction } from "../postgres/pool.ts";

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

/** Ends all sessions of a customer, and its unopened links. Undefined when the organization has no such customer. */
export function endPortalSessions(
  pool: pg.Pool,
  origin: Origin,
  uid: string,
): Promise<{ sessions: number; links: number } | undefined> {
  return inTransaction(pool, async (client) => {
    const customer = await holdCustomer(client, { orgId: origin.orgId, uid });
    if (customer === undefined) return undefined;
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

/** Keeps a customer from being deleted until the transaction ends; undefined when there is none. */
export async function holdCustomer(
  client: pg.ClientBase,
  { orgId, uid }: CustomerKey,
): Promise<{ id: string; uid: string; name: string } | undefined> {
  const { rows } = await client.query<{ id: string; uid: string; name: string }>({
    name: "hold_customer_of_portal",
    text: `select id, uid, name
           from customers
           where org_id = $1
             and uid = $2
           for key share`,
    values: [orgId, uid],
  });
  return rows[0];
}

/** Forgets links and sessions that have expired, which are not accepted any more. @returns how many. */
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
