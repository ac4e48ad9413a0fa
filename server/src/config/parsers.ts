import { isIP } from "node:net";
import { availableParallelism } from "node:os";

/**
 * Turns the text of one environment variable into its value. Throws a {@link ValueError} whose
 * message completes the sentence "`NAME` …" and never repeats the text, which may be a secret.
 */
export type Parser<T> = (text: string) => T;

/** A value that a parser refuses; the message says what the value must be. */
export class ValueError extends Error {}

/** A whole number from `min` to `max`, both included, in decimal digits. @param orElse ends the error message. */
export function integer(min: number, max: number, orElse = ""): Parser<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new ValueError(`must be a whole number from ${min} to ${max}${orElse}`);
    }
    return value;
  };
}

/** A whole number from 1 to `max`, or `auto`: the number of cores that the process may use, at most `max`. */
export function countOrCores(max: number): Parser<number> {
  const count = integer(1, max, ", or auto");
  return (text) => (text === "auto" ? Math.min(max, availableParallelism()) : count(text));
}

/** `true` or `1`, `false` or `0`. */
export function boolean(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new ValueError("must be true or false");
}

export function oneOf<const T extends string>(words: readonly T[]): Parser<T> {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new ValueError(`must be one of ${words.join(", ")}`);
    return word;
  };
}

/** A comma-separated set of the listed words, at least one. */
export function setOf<const T extends string>(words: readonly T[]): Parser<ReadonlySet<T>> {
  const parseWord = oneOf(words);
  return (text) => {
    const chosen = new Set(list(text).map(parseWord));
    if (chosen.size === 0) throw new ValueError(`must name at least one of ${words.join(", ")}`);
    return chosen;
  };
}

/** Any text without white space or control characters inside. */
export function word(text: string): string {
  if (/[\s\p{Cc}]/u.test(text)) throw new ValueError("must not contain spaces or control characters");
  return text;
}

/** A token for an HTTP header, whose other characters clients and servers encode differently. */
export function bearerToken(text: string): string {
  if (!/^[!-~]+$/.test(text)) throw new ValueError("must be printable ASCII characters without spaces");
  return text;
}

/** An address or host name to listen on; IPv6 addresses without the brackets that URLs need. */
export function listenAddress(text: string): string {
  if (/^\[.*\]$/.test(text)) throw new ValueError("must be an IPv6 address without brackets, such as ::1");
  return word(text);
}

/** Any text, such as a path. Variables of other programs must not keep the service from starting. */
export function anyText(text: string): string {
  return text;
}

/**
 * A PostgreSQL connection string. Only the scheme is checked: forms that name a Unix socket
 * (`postgres:///db?host=/run/postgresql`) are valid for the driver and invalid for `URL`.
 */
export function databaseUrl(text: string): string {
  if (!/^postgres(ql)?:\/\/\S+$/.test(text)) {
    throw new ValueError("must look like postgres://user:password@host:5432/database");
  }
  const [, authority = ""] = /^\w+:\/\/([^/?]*)/.exec(text) ?? [];
  const hosts = authority.slice(authority.lastIndexOf("@") + 1);
  if (hosts.includes(",") || /[?&]host=[^&]*(,|%2c)/i.test(text)) {
    throw new ValueError(
      "must name one host: a name or address that follows the primary, not a list of servers",
    );
  }
  // The form for sockets, `postgres://user@/database?host=/path`, has no host, so it is not a valid URL.
  if (!URL.canParse(text.replace("@/", "@socket/")))
    throw new ValueError("must have a host and a port from 1 to 65535");
  // The driver would ignore another spelling, and connect without TLS.
  const [, name, sslmode] = /[?&](ssl[-_]?mode)=([^&#]*)/i.exec(text) ?? [];
  if (sslmode !== undefined && (name !== "sslmode" || !sslmodes.includes(sslmode)))
    throw new ValueError(`must have one of ${sslmodes.join(", ")} as sslmode, spelled so`);
  return text;
}

/** Names of a database URL's parameters that the driver ignores, such as those of other drivers. */
export function ignoredParameters(databaseUrl: string): string[] {
  const [, query] = databaseUrl.split("?");
  return [...new URLSearchParams(query).keys()].filter((name) => !driverParameters.includes(name));
}

/** All that pg reads of a connection string's query. */
const driverParameters = (
  "user password host port database options application_name fallback_application_name client_encoding replication binary " +
  "ssl sslmode sslcert sslkey sslrootcert sslnegotiation uselibpqcompat " +
  "statement_timeout lock_timeout idle_in_transaction_session_timeout query_timeout"
).split(" ");

/** PostgreSQL's modes, and the driver's own for a certificate that is not verified. The driver treats others as `verify-full`. */
const sslmodes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/** An absolute http(s) URL without credentials, query or fragment; a trailing slash is dropped. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    `${url.username}${url.password}${url.search}${url.hash}` !== ""
  ) {
    throw new ValueError("must be a URL such as https://postrider.example.com, without query or credentials");
  }
  return url.href.replace(/\/+$/, "");
}

/** A URL as for `baseUrl`, but without a path, which the payment processor's client does not support. */
export function originUrl(text: string): string {
  const url = baseUrl(text);
  if (url !== new URL(url).origin)
    throw new ValueError("must be a URL without a path, such as http://127.0.0.1:12111");
  return url;
}

/** A 32-byte key in standard base64, as `openssl rand -base64 32` prints it. */
export function encryptionKey(text: string): Buffer {
  const key = Buffer.from(text, "base64");
  if (key.length !== 32 || key.toString("base64").replace("=", "") !== text.replace(/=$/, "")) {
    throw new ValueError("must be 32 bytes in base64; make one with: openssl rand -base64 32");
  }
  return key;
}

/** Any number of keys, separated by commas. */
export function encryptionKeys(text: string): readonly Buffer[] {
  return list(text).map(encryptionKey);
}

/** From one to `max` words, separated by commas. */
export function words(max: number): Parser<readonly string[]> {
  return (text) => {
    const found = list(text).map(word);
    if (found.length === 0 || found.length > max) {
      throw new ValueError(`must hold from 1 to ${max} values separated by commas`);
    }
    return found;
  };
}

/** Host names separated by commas, without ports. */
export function hostNames(text: string): readonly string[] {
  const names = list(text);
  if (!names.every((name) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(name))) {
    throw new ValueError("must be host names, separated by commas, without schemes or ports");
  }
  return names;
}

/** Networks in CIDR notation separated by commas, kept as written. Bits after the prefix may be set. */
export function networks(text: string): readonly string[] {
  return list(text).map((cidr) => {
    const [, address = "", prefix = ""] = /^([^/%]+)\/(\d{1,3})$/.exec(cidr) ?? [];
    const family = isIP(address);
    if (family === 0 || Number(prefix) > (family === 4 ? 32 : 128)) {
      throw new ValueError(
        "must be networks in CIDR notation separated by commas, such as 127.0.0.0/8,::1/128",
      );
    }
    return cidr;
  });
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** One environment variable: its parser, its default, and its description for error messages and documentation. */
export interface Setting<T> {
  name: string;
  parse: Parser<T>;
  /** The text that is parsed for an unset or empty variable. */
  default?: string;
  /** The documentation's words for an unset variable without a default. */
  unset?: string;
  /** Sentences in Markdown, for `docs/configuration.md`. */
  description: string;
  /** The value may contain a secret, and must not appear in a message. */
  secret?: true;
}

/** Settings by their keys in the configuration. Each has a default, or words for an unset variable. */
export type Settings = Readonly<Record<string, Setting<unknown> & ({ default: string } | { unset: string })>>;
