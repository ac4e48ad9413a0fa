import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { emailKey } from "./emailAddress.ts";
import type { Passwords } from "./passwords.ts";
import { endSessionsOfUser } from "./sessionStore.ts";
import { findUser, lockUser } from "./userStore.ts";
import type { User } from "./schemas.ts";
import type { Parts } from "../items/parts.ts";

export interface PasswordDeps extends Pick<Parts, "pool" | "nowMs"> {
  passwords: Passwords;
}

/** Dependencies of an operator's command on accounts and organizations. */
export interface OperatorDeps extends PasswordDeps {
  /** The operator's login name, for the audit log. */
  operator: string;
  /** Shows the command's result. */
  print: (text: string) => void;
  /** Writes one line of JSON for each change, in addition to the entry in the database. */
  audit: (line: string) => void;
}

export type ChangePasswordOutcome =
  | "changed"
  /** The present password is wrong, which the audit log records. */
  | "wrong_password"
  /** The user was removed. */
  | "gone"
  | "overloaded";

/** Changes a user's password after checking the present one. Every other session of the user ends. */
export async function changePassword(
  deps: PasswordDeps,
  origin: Origin,
  input: { userId: string; tokenHash: Buffer; present: string; wanted: string },
): Promise<ChangePasswordOutcome> {
  const { userId, tokenHash } = input;
  const stored = (await findUser(deps.pool, "id", userId))?.passwordHash;
  if (stored === undefined) return "gone";
  const object = { kind: "user", id: userId } as const;
  const verified = await deps.passwords.verify(input.present, stored);
  if (verified === "overloaded") return verified;
  if (verified === "wrong") {
    await inTransaction(deps.pool, (client) =>
      recordChange(client, origin, { action: "password.change_refused", object }),
    );
    return "wrong_password";
  }
  const passwordHash = await deps.passwords.hash(input.wanted);
  if (passwordHash === undefined) return "overloaded";
  const changed = await inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, userId, stored))) return false;
    const ended = await replacePassword(client, userId, passwordHash, tokenHash);
    await recordChange(client, origin, {
      action: "password.changed",
      object,
      after: { sessions_ended: ended },
    });
    return true;
  });
  // Another request has changed the password, or removed the user, since it was verified.
  return changed ? "changed" : changePassword(deps, origin, input);
}

export type ResetPasswordOutcome =
  | { outcome: "reset"; user: User; sessionsEnded: number }
  /** No account has the address. */
  | { outcome: "not_found" }
  | { outcome: "overloaded" };

/** Changes a user's password for an operator, without the present one. Every session of the user ends. */
export async function resetPassword(
  deps: PasswordDeps,
  input: { email: string; wanted: string; operator: string },
): Promise<ResetPasswordOutcome> {
  const passwordHash = await deps.passwords.hash(input.wanted);
  if (passwordHash === undefined) return { outcome: "overloaded" };
  const found = await findUser(deps.pool, "email_key", emailKey(input.email));
  if (found === undefined) return { outcome: "not_found" };
  const { user } = found;
  return inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, user.id))) return { outcome: "not_found" };
    const sessionsEnded = await replacePassword(client, user.id, passwordHash);
    const origin = { orgId: user.org_id, actor: { kind: "operator", name: input.operator } as const };
    await recordChange(client, origin, {
      action: "password.reset",
      object: { kind: "user", id: user.id, name: user.email },
      after: { sessions_ended: sessionsEnded },
    });
    return { outcome: "reset", user, sessionsEnded };
  });
}

/**
 * Sets the password of a user whose row is locked. The user's mailed reset link stops working, and every session
 * of the user ends except the one whose token has the hash `keptHash`. @returns the number of ended sessions.
 */
export async function replacePassword(
  client: pg.ClientBase,
  userId: string,
  passwordHash: string,
  keptHash?: Buffer,
): Promise<number> {
  await client.query("update users set password_hash = $2 where id = $1", [userId, passwordHash]);
  await client.query("delete from password_resets where user_id = $1", [userId]);
  return endSessionsOfUser(client, userId, keptHash);
}
