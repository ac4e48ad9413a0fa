import type pg from "pg";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { unauthorized } from "../http/contract/errors.ts";
import { emailKey } from "./emailAddress.ts";
import type { Passwords } from "./passwords.ts";
import { startSession } from "./sessionStore.ts";
import { findUserByEmail, lockUser, type User } from "./userStore.ts";

export interface LogInDeps {
  pool: pg.Pool;
  passwords: Passwords;
}

/**
 * Starts a session for whoever knows the password. An unknown address costs the same work as a wrong password, the record
 * of it included.
 * @throws {ApiError} 401 when either is wrong.
 */
export async function logIn(
  deps: LogInDeps,
  input: { email: string; password: string },
  request?: RequestTrace,
): Promise<{ user: User; sessionToken: string }> {
  const found = await findUserByEmail(deps.pool, emailKey(input.email));
  const isRight = await deps.passwords.verify(input.password, found?.passwordHash);
  if (found === undefined || !isRight) {
    await recordRefusal(deps.pool, found?.user, request);
    throw unauthorized();
  }
  const { user, passwordHash } = found;
  return inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, user.id, passwordHash))) throw unauthorized();
    const sessionToken = await startSession(client, user.id);
    await recordChange(
      client,
      {
        orgId: user.org_id,
        actor: { kind: "user", id: user.id, name: user.email },
        ...(request && { request }),
      },
      { action: "session.started", object: { kind: "user", id: user.id, name: user.email } },
    );
    return { user, sessionToken };
  });
}

/** What was given as an address is not kept where no account has it: it may be a password in the wrong field. */
async function recordRefusal(
  pool: pg.Pool,
  user: User | undefined,
  request: RequestTrace | undefined,
): Promise<void> {
  await inTransaction(pool, (client) =>
    recordChange(
      client,
      { orgId: user?.org_id ?? null, actor: { kind: "unknown" }, ...(request && { request }) },
      {
        action: "session.refused",
        object: { kind: "user", id: user?.id ?? null, name: user?.email ?? null },
      },
    ),
  );
}
