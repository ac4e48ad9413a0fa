import { ResetPasswordUsageError } from "../accounts/resetPasswordCommand.ts";
import { NotEmptyError } from "../backup/emptiness.ts";
import { OrgUsageError } from "../billing/orgCommand.ts";
import { CommandError, exitCodes } from "../runtime/commandError.ts";

/** Unknown command or missing argument; the message names it. */
export class UsageError extends Error {}

const usageErrors = [OrgUsageError, ResetPasswordUsageError, UsageError];

/** The exit code of a failed command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof NotEmptyError) return exitCodes.conflict;
  return usageErrors.some((kind) => error instanceof kind) ? exitCodes.usage : exitCodes.failed;
}
