import { PostriderError } from "../../sdk/src/client.ts";

/** Exit codes of the process, for scripts. */
export const exitCodes = { done: 0, failed: 1, usage: 2, credential: 3, notFound: 4, conflict: 5 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The failure of a command, with its exit code; the message is printed for the user. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** The command line is wrong, such as an unknown command or a missing argument; the message says what is wrong. */
export class UsageError extends CommandError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, exitCodes.usage, options);
  }
}

/** The exit code for an error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  if (!(error instanceof PostriderError)) return exitCodes.failed;
  switch (error.status) {
    case 400:
      return exitCodes.usage;
    case 401:
    case 403:
      return exitCodes.credential;
    case 404:
    case 410:
      return exitCodes.notFound;
    case 409:
      return exitCodes.conflict;
    default:
      return exitCodes.failed;
  }
}

/** Whether the service refused a valid API key because the key's scope does not include the call. */
export function isOutsideScope(error: unknown): error is PostriderError {
  return error instanceof PostriderError && error.code === "scope_refused";
}

/** The message of an error's innermost cause, with its code: the error of `fetch` itself says only that the call failed. */
export function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  if (!(innermost instanceof Error)) return "";
  const { code } = innermost as NodeJS.ErrnoException;
  const message = innermost.message;
  return typeof code === "string" && !message.includes(code) ? `${code} ${message}`.trim() : message;
}
