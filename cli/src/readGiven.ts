import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Input } from "./command.ts";
import { CommandError, exitCodes, UsageError } from "./exitCodes.ts";
import type { Session } from "./session.ts";

/**
 * Refuses to read the standard input twice.
 * @param files as the command line names them; `-` is the standard input.
 * @throws {UsageError} when it is named twice, or once beside `--key-stdin`.
 */
export function checkStandardInput(input: Input, files: readonly (string | undefined)[], what: string): void {
  const uses = files.filter((file) => file === "-").length;
  if (uses > 1) throw new UsageError("standard input can be read only once: name a file for the other value");
  if (uses === 1 && input.flag("key-stdin")) {
    throw new UsageError(`the standard input cannot be both ${what} and the key: set POSTRIDER_KEY`);
  }
}

/** The bytes of a file, or of the standard input for `-`. @throws {CommandError} when the file cannot be read. */
export async function readGiven(stdin: Session["stdin"], file: string, what: string): Promise<Uint8Array> {
  if (file === "-") return new Uint8Array(await buffer(stdin));
  try {
    return new Uint8Array(await readFile(file));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const exitCode = code === "ENOENT" ? exitCodes.notFound : exitCodes.failed;
    throw new CommandError(`cannot read ${what}: ${message}`, exitCode, { cause });
  }
}

/** The same, parsed. @throws {UsageError} when it is no JSON. */
export async function readGivenJson(stdin: Session["stdin"], file: string, what: string): Promise<unknown> {
  const bytes = await readGiven(stdin, file, what);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new UsageError(`${what} is no JSON: ${(cause as Error).message}`, { cause });
  }
}

/** The same, which has to be an object. @throws {UsageError} */
export async function readGivenObject(
  stdin: Session["stdin"],
  file: string,
  what: string,
): Promise<Record<string, unknown>> {
  const value = await readGivenJson(stdin, file, what);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new UsageError(`${what} must be a JSON object`);
}
