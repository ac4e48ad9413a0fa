import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { Tables } from "../postgres/tables.ts";
import { type KeyScope, type ScopeColumns, scopeColumns, scopeOf } from "../http/contract/scope.ts";
import { refuseUnknownScope, scopeAnswer } from "./keyScope.ts";
import { newCredential } from "../http/contract/credentials.ts";
import { countOfOrganization, lockOrganization } from "./organizationStore.ts";
import {
  ApiError,
  found,
  unauthorized,
  workspaceSuspended,
  workspacePending,
} from "../http/contract/errors.ts";

export interface NewKey {
  orgId: string;
  name: string;
  nowMs: number;
  /** Limits of the key; undefined for an unlimited one. */
  scope?: KeyScope | undefined;
}

/** A key as lists show it, with its scope. */
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
      // Lists show this part.
      key.slice(0, 12),
      Math.floor(nowMs / 1000),
      columns.scope,
      columns.customer_uid,
      columns.mailbox_ids,
    ],
  });
  return { id, key };
}

/**
 * Creates a key; creations and deletions are serialized by a lock on the organization's row.
 * @throws {ApiError} when the organization was deleted meanwhile, its billing state allows no new key, it has `maxKeys` keys, or the
 *   scope names an unknown customer or mailbox.
 */
export async function createKey(
  pool: pg.Pool,
  origin: Origin,
  {
    name,
    maxKeys,
    nowMs,
    scope,
  }: Omit<NewKey, "orgId"> & { /** The most that the organization may have. */ maxKeys: number },
): Promise<{ id: string; key: string }> {
  const { orgId } = origin;
  return inTransaction(pool, async (client) => {
    const organization = await lockOrganization(client, orgId);
    if (organization === undefined) throw unauthorized();
    const status = organization.billing_status;
    if (status === "suspended") throw workspaceSuspended();
    if (status === "pending") throw workspacePending();
    if ((await countOfOrganization(client, "api_keys", orgId)) >= maxKeys) {
      throw new ApiError(
        409,
        `the workspace has ${maxKeys} API keys, the most there can be: delete one first`,
      );
    }
    if (scope !== undefined) await refuseUnknownScope(client, orgId, scope);
    const made = await insertKey(client, { orgId, name, nowMs, scope });
    await recordChange(client, origin, {
      action: "key.created",
      object: { kind: "key", id: made.id, name },
      after: { name, ...scopeAnswer(scope) },
    });
    return made;
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

/**
 * Deletes a key; the next request with it is refused on every node.
 * @param input.callerKeyId the key that authenticates the request, if one does.
 * @throws {ApiError} 404; 409 for the key that authenticates the request, and for the organization's last one.
 */
export async function deleteKey(
  pool: pg.Pool,
  origin: Origin,
  { keyId, callerKeyId }: { keyId: string; callerKeyId: string | undefined },
): Promise<void> {
  const { orgId } = origin;
  return inTransaction(pool, async (client) => {
    await lockOrganization(client, orgId);
    const { rows } = await client.query<{ name: string } & ScopeColumns>({
      name: "find_key_of_organization",
      text: `select name, scope, customer_uid, mailbox_ids
             from api_keys
             where id = $1
               and org_id = $2`,
      values: [keyId, orgId],
    });
    const key = found(rows[0]);
    if (keyId === callerKeyId)
      throw new ApiError(409, "an API key cannot delete itself: use another key or a session", "own_key");
    if ((await countOfOrganization(client, "api_keys", orgId)) === 1)
      throw new ApiError(409, "the last API key cannot be deleted: create another one first", "last_key");
    await recordChange(client, origin, {
      action: "key.deleted",
      object: { kind: "key", id: keyId, name: key.name },
      before: { name: key.name, ...scopeAnswer(scopeOf(key)) },
    });
    await client.query({
      name: "delete_key",
      text: `delete from api_keys
             where id = $1
               and org_id = $2`,
      values: [keyId, orgId],
    });
  });
}
