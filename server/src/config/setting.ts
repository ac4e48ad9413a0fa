import type { Parser } from "./parsers.ts";

/** One environment variable: everything that the service, its error messages and its documentation know of it. */
export interface Setting<T> {
  name: string;
  parse: Parser<T>;
  /** The text that stands for an unset or empty variable. */
  default?: string;
  /** The documentation of an unset variable without a default. */
  unset?: string;
  /** Whole sentences in Markdown, for `docs/configuration.md`. */
  description: string;
  /** The value may hold a secret or a password, and must not appear in a message. */
  secret?: true;
}

/** A setting with a default always has a value; one without may be undefined. */
interface Defaulted<T> extends Setting<T> {
  default: string;
}

/** A setting that always has a value. */
export function always<T>(setting: Defaulted<T>): Defaulted<T> {
  return setting;
}

/** A setting that may have none. */
export function maybe<T>(setting: Setting<T> & { unset: string }): Setting<T | undefined> {
  return setting;
}
