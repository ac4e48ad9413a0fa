import { type Static, Type } from "typebox";
import type pg from "pg";
import { holdCustomer } from "../customers/store.ts";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { type KeyScope, keyScopes } from "../http/contract/scope.ts";
import { isId } from "../postgres/ids.ts";
import { noSuchCustomer, Uid } from "../targets/record/names.ts";
import { described, oneOf } from "../http/contract/schemas.ts";

const maxMailboxes = 50;

const Scope = oneOf(
  keyScopes,
  "`send`: the key can only send items and publications. `read`: the key can only read. `consume`: the key can only use the messages of `mailbox_ids`. `customer`: the key can only use the targets, items and publications of `customer_uid`, and publish to this customer. A key without a scope is not limited.",
);

/** Fields of a key's scope in requests and lists. */
export const ScopeFields = {
  scope: Type.Optional(Scope),
  customer_uid: Type.Optional(described(Uid, "The customer of a key with the scope `customer`")),
  mailbox_ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: maxMailboxes,
      description: "The mailboxes of a key with the scope `consume`",
    }),
  ),
};

type Fields = { [Name in keyof typeof ScopeFields]?: Static<(typeof ScopeFields)[Name]> };

/** Reads the scope of a new key; undefined for an unlimited key. The refusal's message names a missing or misplaced field. */
export function readScope({
  scope,
  customer_uid: customerUid,
  mailbox_ids: mailboxIds,
}: Fields): Read<KeyScope | undefined> {
  if (customerUid !== undefined && scope !== "customer")
    return unreadable("customer_uid is only allowed with the scope customer");
  if (mailboxIds !== undefined && scope !== "consume")
    return unreadable("mailbox_ids is only allowed with the scope consume");
  switch (scope) {
    case undefined:
      return { ok: true, value: undefined };
    case "customer":
      if (customerUid === undefined) return unreadable("customer_uid is required for the scope customer");
      return { ok: true, value: { kind: scope, customerUid } };
    case "consume":
      if (mailboxIds === undefined) return unreadable("mailbox_ids is required for the scope consume");
      return { ok: true, value: { kind: scope, mailboxIds: [...new Set(mailboxIds)] } };
    case "send":
    case "read":
      return { ok: true, value: { kind: scope } };
  }
}

/** The reverse of {@link readScope}: the fields of a stored scope, none for an unlimited key. */
export function scopeAnswer(scope: KeyScope | undefined): Fields {
  if (scope === undefined) return {};
  return {
    scope: scope.kind,
    ...(scope.kind === "customer" && { customer_uid: scope.customerUid }),
    ...(scope.kind === "consume" && { mailbox_ids: [...scope.mailboxIds] }),
  };
}

/**
 * Checks, before a limited key is stored, that its customer or mailboxes exist. Locks the customer against deletion until the
 * transaction ends.
 * @returns why the scope is refused, as a sentence for the caller; undefined when it is valid.
 */
export async function scopeFault(
  client: pg.ClientBase,
  orgId: string,
  scope: KeyScope,
): Promise<string | undefined> {
  switch (scope.kind) {
    case "customer": {
      const { customerUid: uid } = scope;
      const customer = await holdCustomer(client, { orgId, uid });
      return customer === undefined ? noSuchCustomer(uid) : undefined;
    }
    case "consume": {
      const unknown = await findUnknownMailbox(client, orgId, scope.mailboxIds);
      if (unknown === undefined) return undefined;
      return `mailbox_ids: ${JSON.stringify(unknown)} is not a mailbox of this organization`;
    }
    case "send":
    case "read":
      return undefined;
  }
}

/** The first of the ids that is not a mailbox of the organization. */
async function findUnknownMailbox(
  client: pg.ClientBase,
  orgId: string,
  ids: readonly string[],
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>({
    name: "find_mailboxes",
    text: `select t.id
           from targets t
           where t.id = any ($1::uuid[])
             and t.org_id = $2
             and is_pulled(kind_number(t.kind))`,
    values: [ids.filter(isId), orgId],
  });
  const found = new Set(rows.map(({ id }) => id));
  return ids.find((id) => !found.has(id));
}
