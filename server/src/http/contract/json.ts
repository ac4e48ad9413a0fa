import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import type { Static, TSchema } from "typebox";
import type * as Compiler from "typebox/compile";
import { ApiError } from "./errors.ts";

const require = createRequire(import.meta.url);

export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Parses bytes as JSON. @throws {ApiError} 400 that names the place of the fault. */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new ApiError(400, "the body is empty: send a JSON document");
  if (body.subarray(0, byteOrderMark.length).equals(byteOrderMark)) {
    throw new ApiError(400, "the body begins with a byte order mark (U+FEFF): remove the mark");
  }
  if (!isUtf8(body)) throw new ApiError(400, "the body is not valid UTF-8");
  const text = body.toString("utf8");
  try {
    return JSON.parse(text);
  } catch (error) {
    const problem = describeLiteral(body) ?? describe(error as Error, text);
    throw new ApiError(400, `the body is not valid JSON: ${problem}`, { cause: error });
  }
}

/** The parser's message without its quotation of the document, which may contain a secret. */
function describe(error: Error, text: string): string {
  const found = /at position (\d+)( \(line \d+ column \d+\))?/.exec(error.message);
  if (found !== null && Number(found[1]) < text.length) return `unexpected text ${found[0]}`;
  return found !== null || /end of JSON/.test(error.message)
    ? "the document is incomplete"
    : "unexpected text";
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** Literals of other languages that JSON does not have. */
const foreignLiterals = new Set(["NaN", "Infinity", "undefined", "None", "True", "False", "nil"]);

/** A message that names the first foreign literal outside strings; undefined if there is none. */
function describeLiteral(body: Buffer): string | undefined {
  for (const [word] of body.toString("utf8", 0, maxSearchedBytes).matchAll(stringOrWord)) {
    if (foreignLiterals.has(word)) return `${word} is not a JSON value: send null, or a string`;
  }
  return undefined;
}

const stringOrWord = /"[^"\\]*(?:\\[^][^"\\]*)*"?|\w+/g;
/** Bytes that are searched for a foreign literal; bounded, so that a refusal is cheap. */
const maxSearchedBytes = 64 * 1024;

/** The most levels of nesting in a JSON document. Deeper documents cost stack, and have no known use. */
const maxDepth = 64;

/**
 * Parses the body of a request whose values are stored; undefined for an empty one.
 * @param keptField a field of this route, in addition to `keptFields`, in which numbers must not change.
 * @throws {ApiError} 400 for invalid JSON, for text that PostgreSQL cannot store, and for numbers that would change, see
 * {@link changedNumber}.
 */
export function parseStorable(body: Buffer, keptField?: string): unknown {
  if (body.length === 0) return undefined;
  const value = parseJson(body);
  if (isStorable(value, 0)) return value;
  const fault = changedNumber(value, body.toString("utf8"), keptField);
  if (fault === undefined) return value;
  throw new ApiError(400, fault);
}

/**
 * Whether all numbers certainly stay as written: they are finite, and at most 2^53, beyond which they may have been rounded.
 * @throws {ApiError} 400 for text that PostgreSQL cannot store, and for too many levels of nesting.
 */
function isStorable(value: unknown, depth: number): boolean {
  if (depth > maxDepth) throw new ApiError(400, `the body is nested deeper than ${maxDepth} levels`);
  if (typeof value === "string") {
    if (value.includes("\0")) throw new ApiError(400, "the body has a NUL character, which cannot be stored");
    if (!value.isWellFormed())
      throw new ApiError(400, "the body has a lone surrogate, which is not valid Unicode");
    return true;
  }
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  // Does not stop at the first such number: later values may have text that cannot be stored.
  let isKept = true;
  if (Array.isArray(value)) {
    for (const element of value) isKept = isStorable(element, depth + 1) && isKept;
  } else if (value !== null && typeof value === "object") {
    for (const [name, member] of Object.entries(value)) {
      isStorable(name, depth + 1);
      isKept = isStorable(member, depth + 1) && isKept;
    }
  }
  return isKept;
}

/**
 * Fields whose values are returned as they were given. Filters, their samples and schemas are not among them: their numbers are
 * compared as doubles, and limits such as 9223372036854775807 are common.
 */
const keptFields = ["metadata", "example"];

/**
 * Why the first number that would change is refused; undefined for none. JSON.parse reads 1e400 as Infinity, which
 * JSON.stringify would write as null. It also rounds integers beyond 2^53, which matters only in some fields.
 */
function changedNumber(value: unknown, text: string, keptField?: string): string | undefined {
  const infinite = pathOfNumber(value, isInfinite);
  if (infinite !== undefined) return infiniteFault(infinite);
  if (!isJsonObject(value)) return undefined;
  const marked = sourceParse(text, (_, member, { source }) =>
    typeof member === "number" && isRounded(source, member) ? Number.POSITIVE_INFINITY : member,
  ) as JsonObject;
  const kept = [...keptFields, ...(keptField === undefined ? [] : [keptField])].filter((name) =>
    Object.hasOwn(marked, name),
  );
  const rounded = pathOfNumber(Object.fromEntries(kept.map((name) => [name, marked[name]])), isInfinite);
  return rounded === undefined ? undefined : roundedFault(rounded);
}

/** The message for a number that is read as infinite. @param path such as `.a.0` in `{"a":[1e400]}`. */
export function infiniteFault(path: string): string {
  return `${path.slice(1) || "the body"} is a number beyond 1.79e308, which cannot be stored: give it as a string`;
}

/** The message for a whole number that a double cannot hold exactly. @param path such as `.a.0`. */
export function roundedFault(path: string): string {
  return `${path.slice(1)} is a whole number beyond ${Number.MAX_SAFE_INTEGER}, which would be rounded: give it as a string`;
}

/** JSON.parse with source text access (ECMAScript 2026), which TypeScript does not know yet. */
const sourceParse = JSON.parse as unknown as (
  text: string,
  revive: (key: string, value: unknown, at: { source: string }) => unknown,
) => unknown;

export function isInfinite(value: number): boolean {
  return !Number.isFinite(value);
}

/** Whether an integer, written without fraction and exponent, was rounded when it was read. */
function isRounded(source: string, value: number): boolean {
  return /^-?\d+$/.test(source) && withoutZeros(source.replace("-", "")) !== significantDigits(value);
}

/** The digits of the shortest decimal number that is read as this value, without trailing zeros. */
export function significantDigits(value: number): string {
  return withoutZeros(/^-?(\d)(?:\.(\d+))?/.exec(value.toExponential())!.slice(1).join(""));
}

function withoutZeros(digits: string): string {
  return digits.replace(/0+$/, "");
}

/** The path, such as `.a.0`, of the first number for which `isWanted` is true. Not part of {@link isStorable}, because paths cost memory. */
export function pathOfNumber(
  value: unknown,
  isWanted: (value: number) => boolean,
  path = "",
): string | undefined {
  if (typeof value === "number") return isWanted(value) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = pathOfNumber(member, isWanted, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Whether a JSON document is nested deeper than `levels`. Counts brackets without recursion, so that it can protect recursive
 * code: `JSON.parse` accepts any depth, but `JSON.stringify` and other recursive functions overflow the stack.
 */
export function isDeeperThan(levels: number, document: Buffer): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < document.length; at++) {
    const byte = document[at];
    if (byte === quote) isInText = !isInText;
    else if (isInText) at += Number(byte === backslash);
    else if (byte === openBracket || byte === openBrace) depth++;
    else if (byte === closeBracket || byte === closeBrace) depth--;
    if (depth > levels) return true;
  }
  return false;
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = Buffer.from('"\\[]{}');

/**
 * Parses a body that matches `schema`; undefined for any other body, which the framework then refuses with a message. The value
 * is wrapped in an object, because null is also a value.
 */
export function parseIf<S extends TSchema>(schema: S, body: Buffer): { value: Static<S> } | undefined {
  let validator = validators.get(schema);
  if (validator === undefined) {
    // Loaded at the first such body, because the compiler would add a tenth to the modules that a start loads.
    const { Compile } = require("typebox/compile") as typeof Compiler;
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  try {
    const value = parseStorable(body);
    return validator.Check(value) ? { value: value as Static<S> } : undefined;
  } catch {
    return undefined;
  }
}

const validators = new Map<TSchema, Compiler.Validator>();
