import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

type Fields = Readonly<Record<string, unknown>>;

/** The named fields that differ between two states, with their values before and after. */
export function differences<T extends object>(
  names: readonly (keyof T & string)[],
  before: T,
  after: T,
): { before: Fields; after: Fields } {
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return { before: pick(changed, before), after: pick(changed, after) };
}

/** The named fields of a state. */
export function pick<T extends object>(names: readonly (keyof T & string)[], from: T): Fields {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

/**
 * Masks a URL: keeps its origin and a fingerprint that distinguishes two URLs. The path may be a secret, because many
 * receivers are protected only by a token in it.
 */
export function maskedUrl(url: string): string {
  const origin = URL.parse(url)?.origin ?? "?";
  return `${origin}/… (sha256 ${createHash("sha256").update(url).digest("hex").slice(0, 12)})`;
}

const maxCharacters = 256;
const maxElements = 50;

/** Truncates long texts and lists for the audit log. */
export function shown(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cut(value)]));
}

function cut(value: unknown): unknown {
  if (typeof value === "string") return cutText(value);
  if (!Array.isArray(value)) return value;
  const kept = value.slice(0, maxElements).map(cut);
  return value.length > maxElements ? [...kept, `… and ${value.length - maxElements} more`] : kept;
}

/** Truncates a text between characters, because PostgreSQL refuses half of a surrogate pair. */
function cutText(text: string): string {
  if (text.length <= maxCharacters) return text;
  const end = text.slice(0, maxCharacters).isWellFormed() ? maxCharacters : maxCharacters - 1;
  return `${text.slice(0, end)}…`;
}
