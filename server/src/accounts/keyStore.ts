import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { Tables } from "../postgres/tables.ts";
import { type KeyScope, type ScopeColumns, scopeColumns, scopeOf } from "../http/contract/scope.ts";
import { scopeAnswer, scopeFault } from "./keyScope.ts";
import { newCredential } from "../http/contract/credentials.ts";
import { countOfOrganization, lockAsAdmin, lockOrganization } from "./organizationStore.ts";

export interface NewKey {
  orgId: string;
  name: string;
  nowMs: number;
  /** The key's scope; undefined for an unlimited key. */
  scope?: KeyScope | undefined;
}

export type ListedKey = KeyRow & ReturnType<typeof scopeAnswer>;

/** `last_used_at` is at most about 30 s late. */
type KeyRow = Pick<Tables["api_keys"], "id" | "name" | "prefix" | "created_at" | "last_used_at">;

/** Adds a key to an organization, without checking how many it has. */
export async function insertKey(
  client: pg.ClientBase,
  { orgId, name, nowMs, scope }: NewKey,
): Promise<{ id: string; key: string }> {
  const id = newRootId(nowMs);
  const { token: key, hash } = newCredential("ak_live_");
  const columns = scopeColumns(scope);
  await client.query({
    name: "insert_key",
    text: `insert into api_keys (
             id, org_id, name, key_hash, prefix, created_at, scope, customer_uid, mailbox_ids
           )
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9::uuid[])`,
    values: [
      id,
      orgId,
      name,
      hash,
      // The prefix that lists show.
      key.slice(0, 12),
      Math.floor(nowMs / 1000),
      columns.scope,
      columns.customer_uid,
      columns.mailbox_ids,
    ],
  });
  return { id, key };
}

export type CreateKeyOutcome =
  | { outcome: "created"; id: string; key: string }
  /** The user is no longer an admin. */
  | { outcome: "not_admin" }
  /** The organization's billing state allows no new key. */
  | { outcome: "suspended" | "pending" }
  /** The organization already has `maxKeys` keys. */
  | { outcome: "too_many" }
  /** The scope names an unknown customer or mailbox. */
  | { outcome: "invalid"; message: string };

/** Creates a key for an admin. A lock on the organization's row serializes creations and deletions. */
export async function createKey(
  pool: pg.Pool,
  origin: Origin,
  {
    name,
    maxKeys,
    nowMs,
    scope,
  }: Omit<NewKey, "orgId"> & { /** Maximum number of the organization's keys. */ maxKeys: number },
): Promise<CreateKeyOutcome> {
  const { orgId } = origin;
  return inTransaction(pool, async (client) => {
    const organization = await lockAsAdmin(client, origin);
    if (organization === undefined) return { outcome: "not_admin" };
    const status = organization.billing_status;
    if (status === "suspended" || status === "pending") return { outcome: status };
    if ((await countOfOrganization(client, "api_keys", orgId)) >= maxKeys) return { outcome: "too_many" };
    const message = scope && (await scopeFault(client, orgId, scope));
    if (message !== undefined) return { outcome: "invalid", message };
    const made = await insertKey(client, { orgId, name, nowMs, scope });
    await recordChange(client, origin, {
      action: "key.created",
      object: { kind: "key", id: made.id, name },
      after: { name, ...scopeAnswer(scope) },
    });
    return { outcome: "created", ...made };
  });
}

/** The organization's keys, oldest first. */
export async function listKeys(pool: pg.Pool, orgId: string): Promise<ListedKey[]> {
  const { rows } = await pool.query<KeyRow & ScopeColumns>({
    name: "list_keys",
    text: `select id, name, prefix, created_at, last_used_at, scope, customer_uid, mailbox_ids
           from api_keys
           where org_id = $1
           order by id`,
    values: [orgId],
  });
  return rows.map(({ id, name, prefix, created_at, last_used_at, ...columns }) =>
    Object.assign({ id, name, prefix, created_at, last_used_at }, scopeAnswer(scopeOf(columns))),
  );
}

export type DeleteKeyOutcome =
  | "deleted"
  /** The organization has no such key. */
  | "not_found"
  /** The request was authenticated with this key. */
  | "own_key"
  /** The organization has no other key. */
  | "last_key";

/**
 * Deletes a key; from then on every node refuses requests with it.
 * @param input.callerKeyId id of the API key that authenticates the request, if one does.
 */
export async function deleteKey(
  pool: pg.Pool,
  origin: Origin,
  { keyId, callerKeyId }: { keyId: string; callerKeyId: string | undefined },
): Promise<DeleteKeyOutcome> {
  const { orgId } = origin;
  return inTransaction(pool, async (client) => {
    await lockOrganization(client, orgId);
    const { rows } = await client.query<{ name: string } & ScopeColumns>({
      name: "find_key_of_organization",
      text: `select name, scope, customer_uid, mailbox_ids
             from api_keys
             where id = $1
               and org_id = $2
             for update`,
      values: [keyId, orgId],
    });
    const found = rows[0];
    if (found === undefined) return "not_found";
    if (keyId === callerKeyId) return "own_key";
    if ((await countOfOrganization(client, "api_keys", orgId)) === 1) return "last_key";
    await recordChange(client, origin, {
      action: "key.deleted",
      object: { kind: "key", id: keyId, name: found.name },
      before: { name: found.name, ...scopeAnswer(scopeOf(found)) },
    });
    await client.query("delete from api_keys where id = $1", [keyId]);
    return "deleted";
  });
}
