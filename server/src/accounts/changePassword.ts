import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { emailKey } from "./emailAddress.ts";
import type { Passwords } from "./passwords.ts";
import { endResetsOfUser } from "./resetStore.ts";
import { endSessionsOfUser } from "./sessionStore.ts";
import { findPasswordHash, findUserByEmail, lockUser, setPasswordHash } from "./userStore.ts";
import type { User } from "./schemas.ts";
import type { Parts } from "../items/parts.ts";
import { ApiError, unauthorized } from "../http/contract/errors.ts";
import { CommandError } from "../runtime/commandError.ts";

export interface PasswordDeps extends Pick<Parts, "pool" | "nowMs"> {
  passwords: Passwords;
}

/** The means of an operator's command, besides what it changes. */
export interface OperatorDeps extends PasswordDeps {
  /** The operator's login name, for the record. */
  operator: string;
  /** Shows the command's result. */
  print: (text: string) => void;
  /** Writes one line of JSON for each change, in addition to the entry in the database. */
  audit: (line: string) => void;
}

/**
 * Gives a user another password. Every other session of the user ends.
 * @throws {ApiError} 403 when the present password is wrong, which the audit log records; 401 when the user was removed, or has got
 *   another password meanwhile.
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
    throw new ApiError(403, "current_password is wrong", "password_wrong");
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
 * Gives a user another password by order of an operator, whatever the present one is. Every session of the user ends.
 * @throws {CommandError} when no account has the address.
 */
export async function resetPassword(
  deps: PasswordDeps,
  input: { email: string; wanted: string; operator: string },
): Promise<{ user: User; sessionsEnded: number }> {
  const passwordHash = await deps.passwords.hash(input.wanted);
  const found = await findUserByEmail(deps.pool, emailKey(input.email));
  const noAccount = (): CommandError => new CommandError("no account has this address", "notFound");
  if (found === undefined) throw noAccount();
  const { user } = found;
  return inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, user.id))) throw noAccount();
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
 * Sets the password of a user whose row is locked. The user's mailed link to reset it stops working, and every session
 * of the user ends except the one of `keptHash`. @returns the number of ended sessions.
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
