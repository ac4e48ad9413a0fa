import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Input } from "./command.ts";
import { CommandError, exitCodes, UsageError } from "./exitCodes.ts";
import { isRawJson, parseExactly } from "./parseExactly.ts";
import type { Session } from "./session.ts";

/**
 * Checks that the standard input is not read twice.
 * @param files as the command line names them; `-` is the standard input.
 * @throws {UsageError} when several files are `-`, or one is and `--key-stdin` is given.
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

/** Reads and parses a JSON file. @throws {UsageError} when it is not JSON, or contains a number that JavaScript would change. */
export async function readGivenJson(stdin: Session["stdin"], file: string, what: string): Promise<unknown> {
  const bytes = await readGiven(stdin, file, what);
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text) as unknown;
  } catch (cause) {
    throw new UsageError(`${what} is not valid JSON: ${(cause as Error).message}`, { cause });
  }
  const infinite = pathOfNumber(value, isInfinite);
  if (infinite !== undefined) {
    throw new UsageError(
      `${what}${infinite} is a number beyond 1.79e308, which cannot be stored: give it as a string`,
    );
  }
  const rounded = compared.includes(what) ? undefined : pathOfNumber(parseExactly(text), isRounded);
  if (rounded === undefined) return value;
  throw new UsageError(
    `${what}${rounded} is a whole number beyond ${Number.MAX_SAFE_INTEGER}, which would be rounded: give it as a string`,
  );
}

/** Names of values whose numbers the service only compares as doubles, so that rounding does no harm. */
const compared = ["the filter", "the sample", "the schema"];

/** The path, such as `.a.0`, of the first number for which `isWanted` is true. */
function pathOfNumber(value: unknown, isWanted: (value: unknown) => boolean, path = ""): string | undefined {
  if (isWanted(value)) return path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = pathOfNumber(member, isWanted, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a number has overflowed, such as 1e400; `JSON.stringify` would print null. */
function isInfinite(value: unknown): boolean {
  return typeof value === "number" && !Number.isFinite(value);
}

/** Whether a value of {@link parseExactly} is a whole number that JavaScript would write with other digits. */
function isRounded(value: unknown): boolean {
  const { rawJSON: source } = Object(value) as { rawJSON?: string };
  return (
    isRawJson(value) &&
    /^-?\d+$/.test(source!) &&
    digitsOf(source!) !== digitsOf(Number(source).toExponential())
  );
}

/** The digits of a number without trailing zeros. */
function digitsOf(number: string): string {
  return number.replace(/e.*$/, "").replaceAll(/[-.]|0+$/g, "");
}

/** Reads and parses a JSON object, like {@link readGivenJson}. @throws {UsageError} also when the value is not an object. */
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
