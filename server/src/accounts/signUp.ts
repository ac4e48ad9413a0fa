import type { Config } from "../config/config.ts";
import type { RequestTrace } from "../audit/origin.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { PasswordDeps } from "./changePassword.ts";
import type { EmailAddress } from "./emailAddress.ts";
import { createAccount } from "./provision.ts";
import { startSession } from "./sessionStore.ts";
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
    const billingStatus = deps.config.billing.kind === "disabled" ? "active" : "pending";
    const account = await createAccount(client, {
      name,
      billingStatus,
      cause: "signup",
      nowMs,
      actor: { kind: "user", id, name: address.email },
      request,
      hasKey: billingStatus === "active",
      admin: { id, address, name, passwordHash },
    });
    if (account === undefined) return { outcome: "email_taken" };
    const sessionToken = await startSession(client, id);
    return { outcome: "created", user: account.user!, sessionToken, apiKey: account.apiKey };
  });
}
