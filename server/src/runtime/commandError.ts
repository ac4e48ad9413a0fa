/** Exit codes of failed commands, equal to those of the client's commands. */
export const exitCodes = { failed: 1, usage: 2, credential: 3, notFound: 4, conflict: 5 } as const;

/** Why a command failed; the message is for the operator. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, reason: keyof typeof exitCodes, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCodes[reason];
  }
}

/** Unknown command or wrong arguments. The message names them; the command line then lists the valid ones. */
export class UsageError extends CommandError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, "usage", options);
  }
}

export function exitCodeOf(error: unknown): number {
  return error instanceof CommandError ? error.exitCode : exitCodes.failed;
}
