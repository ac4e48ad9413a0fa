import { type Static, Type } from "typebox";
import type pg from "pg";
import { ApiError } from "../http/contract/errors.ts";
import { type KeyScope, keyScopes } from "../http/contract/scope.ts";
import { isId } from "../postgres/ids.ts";
import { noSuchCustomer } from "../targets/record/holdNames.ts";
import { Uid } from "../targets/record/names.ts";

const maxMailboxes = 50;

const Scope = Type.Unsafe<KeyScope["kind"]>({
  type: "string",
  enum: [...keyScopes],
  description:
    "send: nothing but sending items and publications; read: nothing but reading; consume: only the messages of mailbox_ids; customer: only the targets, items and publications of customer_uid, and publishing to it. A key without it may do all that a key can.",
});

/** What a key is limited to, as requests give it and lists show it. */
export const ScopeFields = {
  scope: Type.Optional(Scope),
  customer_uid: Type.Optional(
    Type.Unsafe<string>({ ...Uid, description: "With the scope customer: which one" }),
  ),
  mailbox_ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: maxMailboxes,
      description: "With the scope consume: which mailboxes",
    }),
  ),
};

type Fields = { [Name in keyof typeof ScopeFields]?: Static<(typeof ScopeFields)[Name]> };

/** @throws {ApiError} 400 that names the field which is missing or does not belong. */
export function readScope({ scope, customer_uid: customerUid, mailbox_ids: mailboxIds }: Fields) {
  if (customerUid !== undefined && scope !== "customer") {
    throw new ApiError(400, "customer_uid goes with the scope customer");
  }
  if (mailboxIds !== undefined && scope !== "consume") {
    throw new ApiError(400, "mailbox_ids goes with the scope consume");
  }
  switch (scope) {
    case undefined:
      return undefined;
    case "customer":
      if (customerUid === undefined)
        throw new ApiError(400, "customer_uid is required for the scope customer");
      return { kind: scope, customerUid } satisfies KeyScope;
    case "consume":
      if (mailboxIds === undefined) throw new ApiError(400, "mailbox_ids is required for the scope consume");
      return { kind: scope, mailboxIds: [...new Set(mailboxIds)] } satisfies KeyScope;
    case "send":
    case "read":
      return { kind: scope } satisfies KeyScope;
  }
}

/** The reverse of {@link readScope}; nothing for a key that is not limited. */
export function scopeAnswer(scope: KeyScope | undefined): Fields {
  if (scope === undefined) return {};
  return {
    scope: scope.kind,
    ...(scope.kind === "customer" && { customer_uid: scope.customerUid }),
    ...(scope.kind === "consume" && { mailbox_ids: [...scope.mailboxIds] }),
  };
}

/**
 * Checks, before a limited key is stored, that its customer or mailboxes exist. The customer stays until the transaction ends.
 * @throws {ApiError} 400 for an unknown customer or mailbox.
 */
export async function requireScope(client: pg.ClientBase, orgId: string, scope: KeyScope): Promise<void> {
  if (scope.kind === "customer") await holdCustomer(client, orgId, scope.customerUid);
  if (scope.kind === "consume") await requireMailboxes(client, orgId, scope.mailboxIds);
}

async function holdCustomer(client: pg.ClientBase, orgId: string, uid: string): Promise<void> {
  const { rowCount } = await client.query({
    name: "hold_customer",
    text: `select
           from customers c
           where c.org_id = $1
             and c.uid = $2
           for key share`,
    values: [orgId, uid],
  });
  if (rowCount === 0) throw new ApiError(400, noSuchCustomer(uid));
}

async function requireMailboxes(client: pg.ClientBase, orgId: string, ids: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ id: string }>({
    name: "find_mailboxes",
    text: `select t.id
           from targets t
           where t.id = any ($1::uuid[])
             and t.org_id = $2
             and t.kind = 'mailbox'`,
    values: [ids.filter(isId), orgId],
  });
  const found = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !found.has(id));
  if (unknown !== undefined) {
    throw new ApiError(400, `mailbox_ids: ${JSON.stringify(unknown)} is no mailbox of this workspace`);
  }
}
