import type pg from "pg";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import { ApiError } from "../http/contract/errors.ts";
import { requireEmail } from "./emailAddress.ts";
import { insertKey } from "./keyStore.ts";
import { createOrganization, type NewOrganization, type Organization } from "./organizationStore.ts";
import type { Passwords } from "./passwords.ts";
import { insertUser, type User } from "./userStore.ts";

export interface ProvisionDeps {
  pool: pg.Pool;
  passwords: Passwords;
  nowMs: () => number;
}

export interface ProvisionInput {
  name: string;
  billingStatus: NewOrganization["billingStatus"];
  /** Who creates it; a name as people know it. */
  operator?: string | undefined;
  /** Who may log in; without one, the organization is used through its API key alone. */
  owner?: { email: string; password: string } | undefined;
}

export interface ProvisionedOrganization {
  organization: Organization;
  /** The first key; its text is shown once, here. */
  apiKey: string;
  user: User | undefined;
}

/**
 * Creates an organization outside signup, for the operator's command line, with a key whatever its billing state.
 * @throws {ApiError} 400 for an address of no such shape, 409 when it has an account.
 */
export async function provisionOrganization(
  deps: ProvisionDeps,
  { name, billingStatus, operator = "unknown", owner }: ProvisionInput,
): Promise<ProvisionedOrganization> {
  const login = owner && {
    address: requireEmail(owner.email),
    passwordHash: await deps.passwords.hash(owner.password),
  };
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
    if (user === undefined) throw new ApiError(409, "the email has an account already");
    return { organization, apiKey: key, user };
  });
}
