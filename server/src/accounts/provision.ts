import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { PasswordDeps } from "./changePassword.ts";
import { type EmailAddress, readEmail } from "./emailAddress.ts";
import { insertKey } from "./keyStore.ts";
import { createOrganization, type NewOrganization, type Organization } from "./organizationStore.ts";
import type { Passwords } from "./passwords.ts";
import { insertUser } from "./userStore.ts";
import type { User } from "./schemas.ts";

export interface ProvisionInput {
  name: string;
  billingStatus: NewOrganization["billingStatus"];
  /** The operator's login name, for the audit log. */
  operator?: string | undefined;
  /** The first user; without one, the organization can only be used with its API key. */
  owner?: { email: string; password: string } | undefined;
}

export type ProvisionOutcome =
  | {
      outcome: "created";
      organization: Organization;
      /** The text of the first key, which is not stored. */
      apiKey: string;
      user: User | undefined;
    }
  /** The owner's address is invalid; `message` is a sentence for the operator. */
  | { outcome: "invalid"; message: string }
  /** The owner's address already has an account; nothing was created. */
  | { outcome: "email_taken" }
  | { outcome: "overloaded" };

/** Creates an organization for the operator's command line. Unlike signup, it creates an API key in any billing state. */
export async function provisionOrganization(
  deps: PasswordDeps,
  { name, billingStatus, operator = "unknown", owner }: ProvisionInput,
): Promise<ProvisionOutcome> {
  const login = owner && (await readLogin(deps.passwords, owner));
  if (login !== undefined && "outcome" in login) return login;
  const nowMs = deps.nowMs();
  return inTransaction(deps.pool, async (client) => {
    await client.query("savepoint organization");
    const organization = await createOrganization(client, {
      name,
      billingStatus,
      cause: `operator ${operator}`,
      nowMs,
    });
    const orgId = organization.id;
    const { key } = await insertKey(client, { orgId, name: "default", nowMs });
    await recordChange(
      client,
      { orgId, actor: { kind: "operator", name: operator } },
      {
        action: "organization.created",
        object: { kind: "organization", id: orgId, name },
        after: { name, billing_status: billingStatus, email: login?.address.email ?? null },
      },
    );
    if (login === undefined) return { outcome: "created", organization, apiKey: key, user: undefined };
    const user = await insertUser(client, {
      ...login,
      id: newRootId(nowMs),
      orgId,
      role: "admin",
      name: login.address.localPart,
      nowMs,
    });
    if (user === undefined) {
      await client.query("rollback to savepoint organization");
      return { outcome: "email_taken" };
    }
    return { outcome: "created", organization, apiKey: key, user };
  });
}

async function readLogin(
  passwords: Passwords,
  owner: { email: string; password: string },
): Promise<
  | { address: EmailAddress; passwordHash: string }
  | Extract<ProvisionOutcome, { outcome: "invalid" | "overloaded" }>
> {
  const address = readEmail(owner.email);
  if (!address.ok) return { outcome: "invalid", message: address.message };
  const passwordHash = await passwords.hash(owner.password);
  return passwordHash === undefined ? { outcome: "overloaded" } : { address: address.value, passwordHash };
}
