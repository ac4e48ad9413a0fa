import type pg from "pg";
import type { Origin, RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newPortalCode, newPortalToken } from "../accounts/newCredential.ts";
import { type CustomerKey, objectOf } from "../customers/store.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { newRootId } from "../postgres/ids.ts";
import { requireNewer } from "../items/upgradeGate.ts";
import { inTransaction } from "../postgres/pool.ts";
import { holdCustomer } from "./holdCustomer.ts";

/** The migration since which a process knows of portals. */
const portalMigration = 34;

const linkSeconds = 3_600;
const sessionSeconds = 12 * 3_600;
/** The most of each that a customer has; one more ends the oldest. */
const maxLinks = 100;
const maxSessions = 50;

/**
 * Makes a link for a customer; only the hash of its code is stored.
 * @throws {ApiError} 404 when the organization has no such customer, 503 while a process of an earlier version runs.
 */
export function createLink(
  pool: pg.Pool,
  origin: Origin,
  { uid, nowMs }: { uid: string; nowMs: number },
): Promise<{ code: string; expiresAt: number }> {
  return inTransaction(pool, async (client) => {
    const customer = await holdCustomer(client, { orgId: origin.orgId, uid });
    if (customer === undefined) throw notFound();
    await requireNewer(client, { migration: portalMigration, cannot: "open portals" });
    const { token: code, hash } = newPortalCode();
    const { rows } = await client.query<{ expires_at: number }>({
      name: "create_portal_link",
      text: `with old as (
               delete from portal_links
               where code_hash in (
                 select code_hash
                 from portal_links
                 where org_id = $2
                   and customer_uid = $3
                 order by id desc
                 offset $6
               )
             )
             insert into portal_links (code_hash, org_id, customer_uid, id, expires_at)
             values ($1, $2, $3, $4, floor(extract(epoch from clock_timestamp()))::bigint + $5)
             returning expires_at`,
      values: [hash, origin.orgId, uid, newRootId(nowMs), linkSeconds, maxLinks - 1],
    });
    await recordChange(client, origin, { action: "portal_link.created", object: objectOf(customer) });
    return { code, expiresAt: rows[0]!.expires_at };
  });
}

/**
 * Exchanges a link's code for a session, once: whoever comes second finds no link.
 * @throws {ApiError} 410 for a code that is unknown, was used, or has expired.
 */
export function exchangeCode(
  pool: pg.Pool,
  { code, request, nowMs }: { code: string; request: RequestTrace; nowMs: number },
): Promise<{ token: string; expiresAt: number }> {
  return inTransaction(pool, async (client) => {
    const codeHash = hashCredential(code);
    const found = await findLink(client, codeHash);
    // The customer before the link, as whoever deletes the customer locks them.
    const customer = found && (await holdCustomer(client, found));
    if (found === undefined || customer === undefined || !(await useLink(client, codeHash))) throw linkGone();
    const { token, hash } = newPortalToken();
    const { rows } = await client.query<{ expires_at: number }>({
      name: "start_portal_session",
      text: `with old as (
               delete from portal_sessions
               where token_hash in (
                 select token_hash
                 from portal_sessions
                 where org_id = $2
                   and customer_uid = $3
                 order by id desc
                 offset $6
               )
             )
             insert into portal_sessions (token_hash, org_id, customer_uid, id, expires_at)
             values ($1, $2, $3, $4, floor(extract(epoch from clock_timestamp()))::bigint + $5)
             returning expires_at`,
      values: [hash, found.orgId, found.uid, newRootId(nowMs), sessionSeconds, maxSessions - 1],
    });
    const origin = { orgId: found.orgId, actor: { kind: "customer", id: customer.id }, request } as const;
    await recordChange(client, origin, { action: "portal_session.started", object: objectOf(customer) });
    return { token, expiresAt: rows[0]!.expires_at };
  });
}

/** The customer that a link is for, if it has not expired. */
async function findLink(client: pg.ClientBase, codeHash: Buffer): Promise<CustomerKey | undefined> {
  const { rows } = await client.query<{ org_id: string; customer_uid: string }>({
    name: "find_portal_link",
    text: `select org_id, customer_uid
           from portal_links
           where code_hash = $1
             and expires_at > extract(epoch from clock_timestamp())`,
    values: [codeHash],
  });
  const row = rows[0];
  return row && { orgId: row.org_id, uid: row.customer_uid };
}

/** False when another request has just used it. */
async function useLink(client: pg.ClientBase, codeHash: Buffer): Promise<boolean> {
  const { rowCount } = await client.query({
    name: "use_portal_link",
    text: `delete from portal_links
           where code_hash = $1`,
    values: [codeHash],
  });
  return rowCount === 1;
}

function linkGone(): ApiError {
  return new ApiError(410, "the link was used, or has expired: ask for another one", {
    code: "portal_link_gone",
  });
}
