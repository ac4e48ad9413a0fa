import { CommandError, exitCodes } from "../runtime/commandError.ts";

/** The exit code of a failed command. */
export function exitCodeOf(error: unknown): number {
  return error instanceof CommandError ? error.exitCode : exitCodes.failed;
}
