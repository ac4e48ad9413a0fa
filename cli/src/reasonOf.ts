/** The innermost reason of a failure: fetch itself says only that it failed. */
export function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  if (!(innermost instanceof Error)) return "";
  const { code } = innermost as NodeJS.ErrnoException;
  const message = innermost.message;
  return typeof code === "string" && !message.includes(code) ? `${code} ${message}`.trim() : message;
}
