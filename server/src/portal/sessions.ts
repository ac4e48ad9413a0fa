import type pg from "pg";
import type { Origin, RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { type CustomerKey, holdCustomer, lockCustomer, objectOf } from "../customers/store.ts";
import { type Caller, hashCredential, newCredential } from "../http/contract/credentials.ts";
import { inTransaction } from "../postgres/pool.ts";
import { newRootId } from "../postgres/ids.ts";

export function endPortalSession(
  pool: pg.Pool,
  origin: Origin,
  { scope, tokenHash }: Extract<Caller, { kind: "portal" }>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    const customer = await holdCustomer(client, { orgId: origin.orgId, uid: scope.customerUid });
    const { rowCount } = await client.query("delete from portal_sessions where token_hash = $1", [tokenHash]);
    if (customer === undefined || rowCount === 0) return;
    await recordChange(client, origin, { action: "portal_session.ended", object: objectOf(customer) });
  });
}

/** Ends all sessions of a customer, and deletes its unopened links. Undefined when the organization has no such customer. */
export function endPortalSessions(
  pool: pg.Pool,
  origin: Origin,
  uid: string,
): Promise<{ sessions: number; links: number } | undefined> {
  return inTransaction(pool, async (client) => {
    // An exclusive lock: it waits for a link that is just being exchanged, so that the new session ends too.
    const customer = await lockCustomer(client, { orgId: origin.orgId, uid });
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

/** Links or sessions: at most `most` per customer, each valid for `seconds`; a further one replaces the oldest. */
interface Few {
  table: "portal_links" | "portal_sessions";
  key: "code_hash" | "token_hash";
  seconds: number;
  most: number;
}

const links: Few = { table: "portal_links", key: "code_hash", seconds: 3_600, most: 100 };
const sessions: Few = { table: "portal_sessions", key: "token_hash", seconds: 12 * 3_600, most: 50 };

/** Creates a link for a customer; stores only its code's hash. Undefined when the organization has no such customer. */
export function createLink(
  pool: pg.Pool,
  origin: Origin,
  { uid, nowMs }: { uid: string; nowMs: number },
): Promise<{ code: string; expiresAt: number } | undefined> {
  return inTransaction(pool, async (client) => {
    const customer = await holdCustomer(client, { orgId: origin.orgId, uid });
    if (customer === undefined) return undefined;
    const { token: code, hash } = newCredential("plc_");
    const expiresAt = await storeAmongFew(client, links, { hash, orgId: origin.orgId, uid, nowMs });
    await recordChange(client, origin, { action: "portal_link.created", object: objectOf(customer) });
    return { code, expiresAt };
  });
}

/** Exchanges a link's code for a session, once. Undefined for a code that is unknown, was used, or has expired. */
export function exchangeCode(
  pool: pg.Pool,
  { code, request, nowMs }: { code: string; request: RequestTrace; nowMs: number },
): Promise<{ token: string; expiresAt: number } | undefined> {
  return inTransaction(pool, async (client) => {
    const codeHash = hashCredential(code);
    const found = await findLink(client, codeHash);
    // Locks the customer before the link, as the deletion of a customer does, so that the two cannot deadlock.
    const customer = found && (await holdCustomer(client, found));
    if (found === undefined || customer === undefined) return undefined;
    const { rowCount } = await client.query("delete from portal_links where code_hash = $1", [codeHash]);
    // Another request has used the link before.
    if (rowCount === 0) return undefined;
    const { token, hash } = newCredential("pse_");
    const expiresAt = await storeAmongFew(client, sessions, { hash, ...found, nowMs });
    const origin = { orgId: found.orgId, actor: { kind: "customer", id: customer.id }, request } as const;
    await recordChange(client, origin, { action: "portal_session.started", object: objectOf(customer) });
    return { token, expiresAt };
  });
}

/** Finds the customer of a link that has not expired. */
async function findLink(client: pg.ClientBase, codeHash: Buffer): Promise<CustomerKey | undefined> {
  const { rows } = await client.query<CustomerKey>({
    name: "find_portal_link",
    text: `select org_id as "orgId", customer_uid as uid
           from portal_links
           where code_hash = $1
             and expires_at > extract(epoch from clock_timestamp())`,
    values: [codeHash],
  });
  return rows[0];
}

/** Stores a link or session, and deletes the oldest beyond the limit. @returns the time of expiry, in Unix seconds. */
async function storeAmongFew(
  client: pg.ClientBase,
  { table, key, seconds, most }: Few,
  { hash, orgId, uid, nowMs }: CustomerKey & { hash: Buffer; nowMs: number },
): Promise<number> {
  const { rows } = await client.query<{ expires_at: number }>({
    name: `store_among_${table}`,
    text: `with old as (
             delete from ${table}
             where ${key} in (
               select ${key}
               from ${table}
               where org_id = $2
                 and customer_uid = $3
               order by id desc
               offset $6
             )
           )
           insert into ${table} (${key}, org_id, customer_uid, id, expires_at)
           values ($1, $2, $3, $4, floor(extract(epoch from clock_timestamp()))::bigint + $5)
           returning expires_at`,
    values: [hash, orgId, uid, newRootId(nowMs), seconds, most - 1],
  });
  return rows[0]!.expires_at;
}
