import type { Config } from "../config/config.ts";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { PasswordDeps } from "./changePassword.ts";
import type { EmailAddress } from "./emailAddress.ts";
import { insertKey } from "./keyStore.ts";
import { createOrganization } from "./organizationStore.ts";
import { startSession } from "./sessionStore.ts";
import { insertUser } from "./userStore.ts";
import type { User } from "./schemas.ts";

export interface SignUpDeps extends PasswordDeps {
  /** With live billing, an organization starts as pending, and signup creates no API key. */
  config: Pick<Config, "billing">;
}

export type SignUpOutcome =
  | {
      outcome: "created";
      user: User;
      sessionToken: string;
      /** Undefined when the organization is pending. */
      apiKey: string | undefined;
    }
  /** The address already has an account; nothing changed. */
  | { outcome: "email_taken" }
  | { outcome: "overloaded" };

/**
 * Creates a user with an organization, a default API key and a session, in one transaction. A taken address takes as
 * long, so that response times do not reveal who has an account: both cases hash the password, make the same number of
 * round trips to the database, and commit a transaction that has written rows.
 */
export async function signUp(
  deps: SignUpDeps,
  input: { address: EmailAddress; password: string; name?: string | undefined },
  request: RequestTrace,
): Promise<SignUpOutcome> {
  const { address } = input;
  const name = input.name?.trim() || address.localPart;
  const passwordHash = await deps.passwords.hash(input.password);
  if (passwordHash === undefined) return { outcome: "overloaded" };
  const nowMs = deps.nowMs();
  const id = newRootId(nowMs);
  return inTransaction(deps.pool, async (client) => {
    await client.query("savepoint account");
    const billingStatus = deps.config.billing.kind === "disabled" ? "active" : "pending";
    const { id: orgId } = await createOrganization(client, { name, billingStatus, cause: "signup", nowMs });
    const apiKey =
      billingStatus === "active" ? await insertKey(client, { orgId, name: "default", nowMs }) : undefined;
    await recordChange(
      client,
      { orgId, actor: { kind: "user", id, name: address.email }, request },
      {
        action: "organization.created",
        object: { kind: "organization", id: orgId, name },
        after: { name, billing_status: billingStatus, email: address.email },
      },
    );
    const user = await insertUser(client, { id, orgId, role: "admin", address, name, passwordHash, nowMs });
    if (user === undefined) {
      await client.query("rollback to savepoint account");
      return { outcome: "email_taken" };
    }
    const sessionToken = await startSession(client, user.id);
    return { outcome: "created", user, sessionToken, apiKey: apiKey?.key };
  });
}
