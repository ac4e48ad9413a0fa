import type { SecretBox } from "../../items/secretBox.ts";
import { maxHeaders, nameFault, sizeFault, valueFault } from "./headerRules.ts";
import { invalid, type Refused } from "./refusal.ts";

/** Headers in a request. A value without `secret` is secret. */
export type HeadersInput = Record<string, string | { value: string; secret?: boolean }>;

/** Headers in an answer. A client that sends them back unchanged changes nothing. */
export type HeadersAnswer = Record<string, string | { value: string; secret: boolean }>;

/** Shown in place of a secret value. In a request, it keeps the present value. */
const maskedValue = "***";

/** The headers of one target, decrypted for an attempt. */
export interface OpenHeaders {
  /** Names and values, alternating. */
  pairs: readonly string[];
  /** Lower-case names of the secret headers, and their values. */
  secretNames: ReadonlySet<string>;
  secretValues: readonly string[];
}

/** A header in the JSON of `targets.headers`: with its value, or with its sealed value in base64. */
type StoredHeader = { name: string; value: string } | { name: string; sealed: string };

export interface HeadersDeps {
  box: SecretBox;
  targetId: string;
  /** The target's stored headers before the change. */
  present: string | null;
}

/**
 * Checks headers and seals the secret ones, for `targets.headers`. They replace all headers of the target. A secret header with
 * the value `***` keeps its present value.
 * @returns `stored`: null when there are no headers.
 */
export function sealHeaders(
  deps: HeadersDeps,
  input: HeadersInput,
): { ok: true; stored: string | null } | Refused {
  const given = Object.entries(input);
  if (given.length > maxHeaders) return invalid(`headers must have at most ${maxHeaders} entries`);
  const before = new Map(parse(deps.present).map((header) => [header.name.toLowerCase(), header]));
  const plain: { name: string; value: string }[] = [];
  const stored: StoredHeader[] = [];
  for (const [name, header] of given) {
    const sealed = sealHeader(deps, { name, header, before: before.get(name.toLowerCase()) });
    if ("fault" in sealed) return invalid(`headers.${shown(name)} ${sealed.fault}`);
    plain.push({ name, value: sealed.value });
    stored.push(sealed.stored);
  }
  const fault = sizeFault(plain);
  if (fault !== undefined) return invalid(`headers ${fault}`);
  return { ok: true, stored: stored.length === 0 ? null : JSON.stringify(stored) };
}

function sealHeader(
  { box, targetId }: HeadersDeps,
  { name, header, before }: { name: string; header: HeadersInput[string]; before: StoredHeader | undefined },
): { stored: StoredHeader; value: string } | { fault: string } {
  const { value, secret = true } = typeof header === "string" ? { value: header } : header;
  const badName = nameFault(name);
  if (badName !== undefined) return { fault: badName };
  const context = contextOf(targetId, name);
  if (secret && value === maskedValue) {
    if (before === undefined || !("sealed" in before)) {
      return { fault: `is ${maskedValue}, which keeps a secret value, but the header has no secret value` };
    }
    return { stored: { name, sealed: before.sealed }, value: open(box, context, before.sealed) };
  }
  const badValue = valueFault(value);
  if (badValue !== undefined) return { fault: badValue };
  const stored = secret
    ? { name, sealed: box.seal(Buffer.from(value), context).toString("base64") }
    : { name, value };
  return { stored, value };
}

/** Headers for an answer to their owner, with secret values masked. */
export function headersAnswer(stored: string | null): HeadersAnswer {
  return masked(stored, (value) => ({ value, secret: false }));
}

/** Headers in the form that attempts show, as JSON text: names and values, with secret values masked. */
export function shownHeaders(stored: string): string {
  return JSON.stringify(masked(stored, (value) => value));
}

function masked<Plain>(stored: string | null, plain: (value: string) => Plain) {
  const shown = (header: StoredHeader) => ("sealed" in header ? maskedValue : plain(header.value));
  return Object.fromEntries(parse(stored).map((header) => [header.name, shown(header)]));
}

export function hasSecretHeaders(stored: string | null): boolean {
  return parse(stored).some((header) => "sealed" in header);
}

/** @throws {Error} when a header was sealed with a key that is not configured. The message contains no value. */
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

/** The start of a requested name, for an error message, without characters that names of headers cannot have. */
function shown(name: string): string {
  return name.slice(0, 64).replace(/[^!-~]/g, "?");
}
