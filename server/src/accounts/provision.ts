import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { PasswordDeps } from "./changePassword.ts";
import type { EmailAddress } from "./emailAddress.ts";
import { insertKey } from "./keyStore.ts";
import { createOrganization, type NewOrganization, type Organization } from "./organizationStore.ts";
import { insertUser, type NewUser } from "./userStore.ts";
import type { User } from "./schemas.ts";

/** A new organization with its first user; without one, the organization can only be used with its API key. */
export interface NewAccount extends NewOrganization, Pick<Origin, "actor" | "request"> {
  hasKey: boolean;
  admin: Pick<NewUser, "id" | "address" | "name" | "passwordHash"> | undefined;
}

export interface Account {
  organization: Organization;
  /** The text of the first key, which is not stored; undefined without a key. */
  apiKey: string | undefined;
  user: User | undefined;
}

/** Creates an organization in the caller's transaction. Undefined, and nothing is created, if the user's address has an account. */
export async function createAccount(
  client: pg.ClientBase,
  { hasKey, admin, actor, request, ...organizationInput }: NewAccount,
): Promise<Account | undefined> {
  const { name, billingStatus, nowMs } = organizationInput;
  await client.query("savepoint account");
  const organization = await createOrganization(client, organizationInput);
  const orgId = organization.id;
  const key = hasKey ? await insertKey(client, { orgId, name: "default", nowMs }) : undefined;
  await recordChange(
    client,
    { orgId, actor, ...(request && { request }) },
    {
      action: "organization.created",
      object: { kind: "organization", id: orgId, name },
      after: { name, billing_status: billingStatus, email: admin?.address.email ?? null },
    },
  );
  const user = admin && (await insertUser(client, { ...admin, orgId, role: "admin", nowMs }));
  if (admin !== undefined && user === undefined) {
    await client.query("rollback to savepoint account");
    return undefined;
  }
  return { organization, apiKey: key?.key, user };
}

export interface ProvisionInput {
  name: string;
  billingStatus: NewOrganization["billingStatus"];
  /** The operator's login name, for the audit log. */
  operator: string;
  owner: { address: EmailAddress; password: string } | undefined;
}

export type ProvisionOutcome =
  | ({ outcome: "created" } & Account)
  /** The owner's address already has an account; nothing was created. */
  | { outcome: "email_taken" }
  | { outcome: "overloaded" };

/** Creates an organization for the operator's command line. Unlike signup, it creates an API key in any billing state. */
export async function provisionOrganization(
  deps: PasswordDeps,
  { name, billingStatus, operator, owner }: ProvisionInput,
): Promise<ProvisionOutcome> {
  const passwordHash = owner && (await deps.passwords.hash(owner.password));
  if (owner !== undefined && passwordHash === undefined) return { outcome: "overloaded" };
  const nowMs = deps.nowMs();
  const account = await inTransaction(deps.pool, (client) =>
    createAccount(client, {
      name,
      billingStatus,
      cause: `operator ${operator}`,
      nowMs,
      actor: { kind: "operator", name: operator },
      hasKey: true,
      admin: owner && {
        id: newRootId(nowMs),
        address: owner.address,
        name: owner.address.localPart,
        passwordHash: passwordHash!,
      },
    }),
  );
  return account === undefined ? { outcome: "email_taken" } : { outcome: "created", ...account };
}
