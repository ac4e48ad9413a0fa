import { CommandError, UsageError } from "../runtime/commandError.ts";
import { orRefused } from "../http/contract/errors.ts";
import { type OperatorDeps, resetPassword } from "./changePassword.ts";
import { Password } from "./schemas.ts";

export interface ResetPasswordDeps extends OperatorDeps {
  /** The new password, read from the standard input. */
  password: string;
}

/**
 * Reads the operator's command: `args` are the arguments after `postrider reset-password`. The password is not one of
 * them, because every user of the machine can read a process's arguments.
 * @throws {UsageError} for a wrong command; the command itself throws {CommandError}.
 */
export function readResetPasswordCommand(args: string[]): (deps: ResetPasswordDeps) => Promise<void> {
  const [email, ...rest] = args;
  if (email === undefined) throw new UsageError("<email> is missing");
  if (email.startsWith("-")) throw new UsageError("reset-password takes no options");
  if (rest.length > 0) {
    throw new UsageError(
      "only <email> is given as an argument: the password is read from the standard input",
    );
  }
  return async (deps) => {
    const wanted = requirePassword(deps.password);
    const reset = await resetPassword(deps, { email, wanted, operator: deps.operator });
    const { user, sessionsEnded } = orRefused(reset, "reset", {
      not_found: () => new CommandError("no account has this address", "notFound"),
      overloaded: () => new CommandError("too many passwords wait to be hashed: try again", "failed"),
    });
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
  throw new Error(`the password must have ${minLength} to ${maxLength} characters, but has ${characters}`);
}
