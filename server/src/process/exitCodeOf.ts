import { ResetPasswordUsageError } from "../accounts/resetPasswordCommand.ts";
import { NotEmptyError } from "../backup/emptiness.ts";
import { OrgUsageError } from "../billing/orgCommand.ts";
import { ApiError } from "../http/contract/errors.ts";
import { CommandError, exitCodes } from "../runtime/commandError.ts";

/** The words make no command; the message says which. */
export class UsageError extends Error {}

const usageErrors = [OrgUsageError, ResetPasswordUsageError, UsageError];

/** What refusals come to that the commands of operators share with the interface, by their status. */
const codesOfRefusals: Readonly<Record<number, number>> = {
  400: exitCodes.usage,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
};

/** What a failed command ends with. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof ApiError) return codesOfRefusals[error.status] ?? exitCodes.failed;
  if (error instanceof NotEmptyError) return exitCodes.conflict;
  return usageErrors.some((kind) => error instanceof kind) ? exitCodes.usage : exitCodes.failed;
}
