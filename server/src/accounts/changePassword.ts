import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { ApiError, unauthorized } from "../http/contract/errors.ts";
import { inTransaction } from "../postgres/pool.ts";
import { emailKey } from "./emailAddress.ts";
import type { Passwords } from "./passwords.ts";
import { endResetsOfUser } from "./resetStore.ts";
import { endSessionsOfUser } from "./sessionStore.ts";
import { findPasswordHash, findUserByEmail, lockUser, setPasswordHash, type User } from "./userStore.ts";

export interface PasswordDeps {
  pool: pg.Pool;
  passwords: Passwords;
}

/**
 * Gives a user another password. Every other session of the user ends with it.
 * @throws {ApiError} 403 when the present password is wrong, which is on record; 503 when too many passwords wait.
 */
export async function changePassword(
  deps: PasswordDeps,
  origin: Origin,
  input: { userId: string; tokenHash: Buffer; present: string; wanted: string },
): Promise<void> {
  const { userId, tokenHash } = input;
  const stored = await findPasswordHash(deps.pool, userId);
  if (stored === undefined) throw unauthorized();
  const object = { kind: "user", id: userId } as const;
  if (!(await deps.passwords.verify(input.present, stored))) {
    await inTransaction(deps.pool, (client) =>
      recordChange(client, origin, { action: "password.change_refused", object }),
    );
    throw new ApiError(403, "current_password is wrong", { code: "password_wrong" });
  }
  const passwordHash = await deps.passwords.hash(input.wanted);
  await inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, userId, stored))) throw unauthorized();
    const ended = await replacePassword(client, userId, passwordHash, tokenHash);
    await recordChange(client, origin, {
      action: "password.changed",
      object,
      after: { sessions_ended: ended },
    });
  });
}

/**
 * The same by an operator, who knows no present password. Every session of the user ends.
 * @throws {ApiError} 404 when no account has the address.
 */
export async function resetPassword(
  deps: PasswordDeps,
  input: { email: string; wanted: string; operator: string },
): Promise<{ user: User; sessionsEnded: number }> {
  const passwordHash = await deps.passwords.hash(input.wanted);
  const found = await findUserByEmail(deps.pool, emailKey(input.email));
  if (found === undefined) throw new ApiError(404, "no account has this address");
  const { user } = found;
  return inTransaction(deps.pool, async (client) => {
    // Whatever the password is by now.
    if (!(await lockUser(client, user.id))) throw new ApiError(404, "no account has this address");
    const sessionsEnded = await replacePassword(client, user.id, passwordHash);
    const origin = { orgId: user.org_id, actor: { kind: "operator", name: input.operator } as const };
    await recordChange(client, origin, {
      action: "password.reset",
      object: { kind: "user", id: user.id, name: user.email },
      after: { sessions_ended: sessionsEnded },
    });
    return { user, sessionsEnded };
  });
}

/**
 * Sets the password of a user whose row is locked. A mailed link that would reset it works no longer, and every session of the
 * user ends but for the one of `keptHash`. @returns how many sessions that were.
 */
export async function replacePassword(
  client: pg.ClientBase,
  userId: string,
  passwordHash: string,
  keptHash?: Buffer,
): Promise<number> {
  await setPasswordHash(client, userId, passwordHash);
  await endResetsOfUser(client, userId);
  return endSessionsOfUser(client, userId, keptHash);
}
