import type pg from "pg";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { emailKey } from "./emailAddress.ts";
import type { PasswordDeps } from "./changePassword.ts";
import { startSession } from "./sessionStore.ts";
import { findUser, lockUser } from "./userStore.ts";
import type { User } from "./schemas.ts";

export type LogInOutcome =
  | { outcome: "started"; user: User; sessionToken: string }
  /** The address has no account, or the password is wrong. */
  | { outcome: "refused" }
  | { outcome: "overloaded" };

/**
 * Starts a session for a user who gives the right password. An unknown address costs the same work as a wrong password,
 * including the audit entry, so that response times do not reveal who has an account.
 */
export async function logIn(
  deps: PasswordDeps,
  input: { email: string; password: string },
  request: RequestTrace,
): Promise<LogInOutcome> {
  const found = await findUser(deps.pool, "email_key", emailKey(input.email));
  const verified = await deps.passwords.verify(input.password, found?.passwordHash);
  if (verified === "overloaded") return { outcome: verified };
  if (found === undefined || verified === "wrong") {
    await recordRefusal(deps.pool, found?.user, request);
    return { outcome: "refused" };
  }
  const { user, passwordHash } = found;
  return inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, user.id, passwordHash))) return { outcome: "refused" };
    const sessionToken = await startSession(client, user.id);
    const object = { kind: "user", id: user.id, name: user.email } as const;
    const origin = { orgId: user.org_id, actor: object, request };
    await recordChange(client, origin, { action: "session.started", object });
    return { outcome: "started", user, sessionToken };
  });
}

/** Records a refused login. The given address is stored only if an account has it: it may be a password in the wrong field. */
function recordRefusal(pool: pg.Pool, user: User | undefined, request: RequestTrace): Promise<void> {
  const origin = { orgId: user?.org_id ?? null, actor: { kind: "unknown" }, request } as const;
  const object = { kind: "user", id: user?.id ?? null, name: user?.email ?? null } as const;
  return inTransaction(pool, (client) => recordChange(client, origin, { action: "session.refused", object }));
}
