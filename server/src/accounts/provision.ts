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
import { CommandError } from "../runtime/commandError.ts";

export interface ProvisionInput {
  name: string;
  billingStatus: NewOrganization["billingStatus"];
  /** The operator's login name, for the record. */
  operator?: string | undefined;
  /** The first user; without one, the organization is used through its API key alone. */
  owner?: { email: string; password: string } | undefined;
}

export interface Provisioned {
  organization: Organization;
  /** The text of the first key, which is not stored. */
  apiKey: string;
  user: User | undefined;
}

/**
 * Creates an organization outside signup, for the operator's command line; it has a key in any billing state.
 * @throws {CommandError} when the owner's address is none, or has an account already; nothing is created then.
 */
export async function provisionOrganization(
  deps: PasswordDeps,
  { name, billingStatus, operator = "unknown", owner }: ProvisionInput,
): Promise<Provisioned> {
  const login = owner && (await readLogin(deps.passwords, owner));
  const nowMs = deps.nowMs();
  return inTransaction(deps.pool, async (client) => {
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
    if (login === undefined) return { organization, apiKey: key, user: undefined };
    const user = await insertUser(client, {
      ...login,
      id: newRootId(nowMs),
      orgId,
      role: "admin",
      name: login.address.localPart,
      nowMs,
    });
    if (user === undefined) throw new CommandError("the email has an account already", "conflict");
    return { organization, apiKey: key, user };
  });
}

async function readLogin(
  passwords: Passwords,
  owner: { email: string; password: string },
): Promise<{ address: EmailAddress; passwordHash: string }> {
  const address = readEmail(owner.email);
  if (!address.ok) throw new CommandError(address.message, "usage");
  return { address: address.value, passwordHash: await passwords.hash(owner.password) };
}
