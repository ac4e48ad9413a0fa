import { ApiError } from "../http/contract/errors.ts";
import type { SecretBox } from "../items/secretBox.ts";
import { maxHeaders, nameFault, sizeFault, valueFault } from "./headerRules.ts";

/** Headers as a request gives them: a value alone is secret. */
export type HeadersInput = Record<string, string | { value: string; secret?: boolean }>;

/** Headers as they are answered: what stands here can be sent back without changing anything. */
export type HeadersAnswer = Record<string, string | { value: string; secret: boolean }>;

/** What stands for a secret value; sent back, it leaves the value as it is. */
const maskedValue = "***";

/** Headers of one target as an attempt carries them. */
export interface OpenHeaders {
  /** Names and values in turn. */
  pairs: readonly string[];
  /** Lower-case names of those that are secret, and their values. */
  secretNames: ReadonlySet<string>;
  secretValues: readonly string[];
}

/** As in `targets.headers`: with a value, or with the base64 of a sealed one. */
type StoredHeader = { name: string; value: string } | { name: string; sealed: string };

export interface HeadersDeps {
  box: SecretBox;
  targetId: string;
  /** What the target has, as it is stored. */
  present: string | null;
}

/**
 * Checks headers and seals those that are secret, for `targets.headers`. They take the place of all that the target has;
 * a secret one that is given as `***` keeps its value.
 * @returns null when there are none.
 * @throws {ApiError} 400 that names the header.
 */
export function sealHeaders({ box, targetId, present }: HeadersDeps, input: HeadersInput): string | null {
  if (Object.keys(input).length > maxHeaders)
    throw new ApiError(400, `headers must be at most ${maxHeaders}`);
  const before = new Map(parse(present).map((header) => [header.name.toLowerCase(), header]));
  const plain: { name: string; value: string }[] = [];
  const stored = Object.entries(input).map(([name, given]): StoredHeader => {
    const { value, secret = true } = typeof given === "string" ? { value: given } : given;
    const nameProblem = nameFault(name);
    if (nameProblem !== undefined) throw new ApiError(400, `headers.${shown(name)} ${nameProblem}`);
    const context = contextOf(targetId, name);
    if (secret && value === maskedValue) {
      const kept = before.get(name.toLowerCase());
      if (kept === undefined || !("sealed" in kept)) {
        throw new ApiError(
          400,
          `headers.${name} is ${maskedValue}, which keeps a secret value, and it has none`,
        );
      }
      plain.push({ name, value: open(box, context, kept.sealed) });
      return { name, sealed: kept.sealed };
    }
    const valueProblem = valueFault(value);
    if (valueProblem !== undefined) throw new ApiError(400, `headers.${name} ${valueProblem}`);
    plain.push({ name, value });
    return secret
      ? { name, sealed: box.seal(Buffer.from(value), context).toString("base64") }
      : { name, value };
  });
  const sizeProblem = sizeFault(plain);
  if (sizeProblem !== undefined) throw new ApiError(400, `headers ${sizeProblem}`);
  return stored.length === 0 ? null : JSON.stringify(stored);
}

/** Headers as their owner may read them. */
export function headersAnswer(stored: string | null): HeadersAnswer {
  return Object.fromEntries(
    parse(stored).map((header) => [
      header.name,
      "sealed" in header ? maskedValue : { value: header.value, secret: false },
    ]),
  );
}

/** What attempts show of them, as JSON text: names and values, where secret ones are masked. */
export function shownHeaders(stored: string): string {
  return JSON.stringify(
    Object.fromEntries(
      parse(stored).map((header) => [header.name, "sealed" in header ? maskedValue : header.value]),
    ),
  );
}

export function hasSecretHeaders(stored: string | null): boolean {
  return parse(stored).some((header) => "sealed" in header);
}

/** @throws {Error} when one was sealed with a key that is not given; the message has no value. */
export function openHeaders(box: SecretBox, targetId: string, stored: string): OpenHeaders {
  const pairs: string[] = [];
  const secretNames = new Set<string>();
  const secretValues: string[] = [];
  for (const header of parse(stored)) {
    if ("value" in header) {
      pairs.push(header.name, header.value);
      continue;
    }
    const value = open(box, contextOf(targetId, header.name), header.sealed);
    pairs.push(header.name, value);
    secretNames.add(header.name.toLowerCase());
    secretValues.push(value);
  }
  return { pairs, secretNames, secretValues };
}

function parse(stored: string | null): StoredHeader[] {
  return stored === null ? [] : (JSON.parse(stored) as StoredHeader[]);
}

function open(box: SecretBox, context: string, sealed: string): string {
  return box.open(Buffer.from(sealed, "base64"), context).toString();
}

function contextOf(targetId: string, name: string): string {
  return `target-header:${targetId}:${name.toLowerCase()}`;
}

/** A name from outside, for a message: a part of it, without what does not belong into one. */
function shown(name: string): string {
  return name.slice(0, 64).replace(/[^!-~]/g, "?");
}
