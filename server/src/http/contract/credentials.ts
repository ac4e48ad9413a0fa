import { hash, randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type pg from "pg";
import { ApiError, unauthorized } from "./errors.ts";
import type { Role } from "./access.ts";
import { outOfScope, type Scope, type ScopeColumns, scopeOf } from "./scope.ts";

/**
 * The authenticated caller: an API key of an organization, a user's session, or a customer's portal session. An API key may be
 * limited by a {@link Scope}; a portal session always is.
 */
export type Caller =
  | { kind: "apiKey"; orgId: string; keyId: string; scope: Scope | undefined }
  | {
      kind: "session";
      orgId: string;
      userId: string;
      role: Role;
      tokenHash: Buffer;
      scope?: undefined;
    }
  | {
      kind: "portal";
      orgId: string;
      /** The service's id of the customer, which the audit log shows. */
      customerId: string;
      tokenHash: Buffer;
      scope: Scope & { kind: "portal" };
    };

/** The SHA-256 of an API key or session token. Only this hash is stored. */
export function hashCredential(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/**
 * Creates a credential of 256 random bits: its text, which is not stored, and its hash, which is stored.
 * @param prefix names the kind: API key, invitation, portal link, portal session, link to reset a password, session.
 */
export function newCredential(prefix: "ak_live_" | "inv_" | "plc_" | "pse_" | "rst_" | "ses_") {
  const token = `${prefix}${randomBytes(32).toString("hex")}`;
  return { token, hash: hashCredential(token) };
}

/**
 * The API key of `Authorization: Bearer ak_live_…`, not checked against the database; undefined when the header is absent.
 * @throws {ApiError} 401 when the header does not have this form.
 */
export function presentedKey(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization;
  if (header === undefined) return undefined;
  const match = bearerPattern.exec(header);
  if (match === null) throw unauthorized();
  return match[1];
}

/** The API key, for a route whose SQL function checks it. @throws {ApiError} 401 without a key. */
export function requiredKey(request: FastifyRequest): string {
  const key = presentedKey(request);
  if (key === undefined) throw unauthorized();
  return key;
}

const bearerPattern = /^bearer +(ak_live_[0-9a-f]{64})$/i;

/** The session token of `X-Session-Token`; undefined when absent. @throws {ApiError} 401 when it has not the form of a token. */
function presentedSession(request: FastifyRequest): string | undefined {
  const header = request.headers["x-session-token"];
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !sessionPattern.test(header)) throw unauthorized();
  return header;
}

const sessionPattern = /^(?:ses|pse)_[0-9a-f]{64}$/;

/**
 * Authenticates the caller against the database, so that a credential that was revoked on any node is refused.
 * A portal session comes in the header of sessions, and is accepted where the route accepts `either`; the route's scope rule then
 * decides. If a request carries both an API key and a session, the kind that the route accepts counts (for `either`, the API
 * key), and the other is ignored. Other schemes of `Authorization` are meant for a proxy in front, and are ignored.
 * @throws {ApiError} 401 without a valid credential, 403 when the route needs the other kind.
 */
export async function authenticate(
  pool: pg.Pool,
  request: FastifyRequest,
  accepts: "session" | "apiKey" | "either" | "portal",
  onKeyUsed: (key: string) => void,
): Promise<Caller> {
  const hasKey = /^bearer /i.test(request.headers.authorization ?? "");
  const hasSession = request.headers["x-session-token"] !== undefined;
  const isKeyJudged = accepts === "session" || accepts === "portal" ? !hasSession : hasKey;
  const key = isKeyJudged ? presentedKey(request) : undefined;
  const caller = isKeyJudged ? await findKey(pool, key) : await findSession(pool, presentedSession(request));
  if (caller === undefined) throw unauthorized();
  if (key !== undefined) onKeyUsed(key);
  if (accepts !== "either" && accepts !== caller.kind) {
    throw caller.kind === "portal" ? outOfScope(caller.scope) : new ApiError(403, otherKind[accepts]);
  }
  return caller;
}

const otherKind = {
  session: "this route needs a user's session token in X-Session-Token, not an API key",
  portal: "this route needs the session token of a customer's portal in X-Session-Token",
  apiKey: "this route needs an API key in Authorization: Bearer, not a session token",
} as const;

async function findKey(pool: pg.Pool, key: string | undefined): Promise<Caller | undefined> {
  if (key === undefined) return undefined;
  const { rows } = await pool.query<{ id: string; org_id: string } & ScopeColumns>({
    name: "find_key",
    text: `select id, org_id, scope, customer_uid, mailbox_ids
           from api_keys
           where key_hash = $1`,
    values: [hashCredential(key)],
  });
  const row = rows[0];
  return row && { kind: "apiKey", keyId: row.id, orgId: row.org_id, scope: scopeOf(row) };
}

async function findSession(pool: pg.Pool, token: string | undefined): Promise<Caller | undefined> {
  if (token === undefined) return undefined;
  const tokenHash = hashCredential(token);
  if (token.startsWith("pse_")) return findPortalSession(pool, tokenHash);
  const { rows } = await pool.query<{ user_id: string; org_id: string; role: Role }>({
    name: "find_session",
    text: `select s.user_id, u.org_id, u.role
           from sessions s
           join users u on u.id = s.user_id
           where s.token_hash = $1
             and s.expires_at > extract(epoch from clock_timestamp())`,
    values: [tokenHash],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { user_id: userId, org_id: orgId, role } = row;
  return { kind: "session", userId, orgId, role, tokenHash };
}

async function findPortalSession(pool: pg.Pool, tokenHash: Buffer): Promise<Caller | undefined> {
  const { rows } = await pool.query<{ org_id: string; customer_uid: string; customer_id: string }>({
    name: "find_portal_session",
    text: `select s.org_id, s.customer_uid, c.id as customer_id
           from portal_sessions s
           join customers c on c.org_id = s.org_id and c.uid = s.customer_uid
           where s.token_hash = $1
             and s.expires_at > extract(epoch from clock_timestamp())`,
    values: [tokenHash],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { org_id: orgId, customer_uid: customerUid, customer_id: customerId } = row;
  return { kind: "portal", orgId, customerId, tokenHash, scope: { kind: "portal", customerUid } };
}
