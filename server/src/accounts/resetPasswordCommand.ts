import { CommandError, UsageError } from "../runtime/commandError.ts";
import { resetPassword, type ResetPasswordOutcome } from "./changePassword.ts";
import type { Passwords } from "./passwords.ts";
import { resetPasswordUsage } from "./resetPasswordUsage.ts";
import { Password } from "./schemas.ts";
import type { Parts } from "../items/parts.ts";

export interface ResetPasswordDeps extends Pick<Parts, "pool" | "nowMs"> {
  passwords: Passwords;
  /** The operator's login name, for the record. */
  operator: string;
  /** The new password, read from the standard input. */
  password: string;
  /** Shows the command's result. */
  print: (text: string) => void;
  /** Writes one line of JSON, in addition to the entry in the database. */
  audit: (line: string) => void;
}

/**
 * Reads the operator's command: `args` are the arguments after `postrider reset-password`. The password is not one of
 * them, because every user of the machine can read a process's arguments.
 * @throws {UsageError} for a wrong command; the command itself throws {CommandError}.
 */
export function readResetPasswordCommand(args: string[]): (deps: ResetPasswordDeps) => Promise<void> {
  const [email, ...rest] = args;
  if (email === undefined) throw new UsageError("<email> is missing", resetPasswordUsage);
  if (email.startsWith("-")) throw new UsageError("reset-password takes no options", resetPasswordUsage);
  if (rest.length > 0) {
    throw new UsageError(
      "only <email> is given as an argument: the password is read from the standard input",
      resetPasswordUsage,
    );
  }
  return async (deps) => {
    const wanted = requirePassword(deps.password);
    const { user, sessionsEnded } = resetUser(
      await resetPassword(deps, { email, wanted, operator: deps.operator }),
    );
    const what = { user_id: user.id, org_id: user.org_id, sessions_ended: sessionsEnded };
    const time = new Date(deps.nowMs()).toISOString();
    deps.audit(JSON.stringify({ audit: "reset-password", time, operator: deps.operator, ...what }));
    deps.print(JSON.stringify({ email: user.email, ...what }, null, 2));
  };
}

/** The user whose password was reset. @throws {CommandError} when none was. */
function resetUser(reset: ResetPasswordOutcome): Extract<ResetPasswordOutcome, { outcome: "reset" }> {
  switch (reset.outcome) {
    case "reset":
      return reset;
    case "not_found":
      throw new CommandError("no account has this address", "notFound");
    case "overloaded":
      throw new CommandError("too many passwords wait to be hashed: try again", "failed");
  }
}

function requirePassword(text: string): string {
  const characters = Array.from(text).length;
  const { minLength, maxLength } = Password;
  if (characters >= minLength && characters <= maxLength) return text;
  throw new Error(`the password must have ${minLength} to ${maxLength} characters, and not ${characters}`);
}
