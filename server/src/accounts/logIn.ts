import type pg from "pg";
import { inTransaction } from "../postgres/pool.ts";
import { unauthorized } from "../http/contract/errors.ts";
import { emailKey } from "./emailAddress.ts";
import type { Passwords } from "./passwords.ts";
import { lockUser, startSession } from "./sessionStore.ts";
import { findUserByEmail, type User } from "./userStore.ts";

export interface LogInDeps {
  pool: pg.Pool;
  passwords: Passwords;
}

/**
 * Starts a session for whoever knows the password. An unknown address costs the same work as a wrong password.
 * @throws {ApiError} 401 when either is wrong.
 */
export async function logIn(
  deps: LogInDeps,
  input: { email: string; password: string },
): Promise<{ user: User; sessionToken: string }> {
  const found = await findUserByEmail(deps.pool, emailKey(input.email));
  const isRight = await deps.passwords.verify(input.password, found?.passwordHash);
  if (found === undefined || !isRight) throw unauthorized();
  const { user } = found;
  return inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, user.id))) throw unauthorized();
    return { user, sessionToken: await startSession(client, user.id) };
  });
}
