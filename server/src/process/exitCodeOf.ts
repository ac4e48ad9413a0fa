import { ResetPasswordUsageError } from "../accounts/resetPasswordCommand.ts";
import { NotEmptyError } from "../backup/emptiness.ts";
import { OrgUsageError } from "../billing/orgCommand.ts";
import { CommandError, exitCodes } from "./commandError.ts";

/** The words make no command; the message says which. */
export class UsageError extends Error {}

const usageErrors = [OrgUsageError, ResetPasswordUsageError, UsageError];

/** What a failed command ends with. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof NotEmptyError) return exitCodes.conflict;
  return usageErrors.some((kind) => error instanceof kind) ? exitCodes.usage : exitCodes.failed;
}
