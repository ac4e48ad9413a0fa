import type pg from "pg";
import { resetPassword } from "./changePassword.ts";
import type { Passwords } from "./passwords.ts";
import { Password } from "./schemas.ts";

export interface ResetPasswordDeps {
  pool: pg.Pool;
  passwords: Passwords;
  nowMs: () => number;
  /** Who gives the command, for the record. */
  operator: string;
  /** The new password, read from where no other process sees it. */
  password: string;
  /** Shows the command's result. */
  print: (text: string) => void;
  /** Takes one line of JSON, beside the record in the database. */
  audit: (line: string) => void;
}

export const resetPasswordUsage = `  postrider reset-password <email>                       sets a user's password to a line of the standard input
`;

/** The arguments do not make a command; the message says what is wrong. */
export class ResetPasswordUsageError extends Error {}

/**
 * Reads the operator's command: `args` is what stands after `postrider reset-password`. A password among the arguments
 * would be seen by everybody on the machine, so there is no place for it.
 * @throws {ResetPasswordUsageError} for a wrong command; the command itself throws for what cannot be done.
 */
export function readResetPasswordCommand(args: string[]): (deps: ResetPasswordDeps) => Promise<void> {
  const [email, ...rest] = args;
  if (email === undefined) throw new ResetPasswordUsageError("<email> is missing");
  if (email.startsWith("-")) throw new ResetPasswordUsageError("reset-password takes no options");
  if (rest.length > 0) {
    throw new ResetPasswordUsageError(
      "only <email> is given as an argument: the password is read from the standard input",
    );
  }
  return async (deps) => {
    const wanted = requirePassword(deps.password);
    const { user, sessionsEnded } = await resetPassword(deps, { email, wanted, operator: deps.operator });
    const what = { user_id: user.id, org_id: user.org_id, sessions_ended: sessionsEnded };
    const time = new Date(deps.nowMs()).toISOString();
    deps.audit(JSON.stringify({ audit: "reset-password", time, operator: deps.operator, ...what }));
    deps.print(JSON.stringify({ email: user.email, ...what }, null, 2));
  };
}

function requirePassword(text: string): string {
  const characters = Array.from(text).length;
  const { minLength, maxLength } = Password;
  if (characters >= minLength && characters <= maxLength) return text;
  throw new Error(`the password must have ${minLength} to ${maxLength} characters, and not ${characters}`);
}
