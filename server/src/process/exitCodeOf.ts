import { NotEmptyError } from "../backup/emptiness.ts";
import { OrgUsageError } from "../billing/orgCommand.ts";
import { CommandError, exitCodes } from "./commandError.ts";

/** The words make no command; the message says which. */
export class UsageError extends Error {}

/** What a failed command ends with. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof NotEmptyError) return exitCodes.conflict;
  return error instanceof OrgUsageError || error instanceof UsageError ? exitCodes.usage : exitCodes.failed;
}
