/*
 * Rules for the headers that an owner may add to the service's requests. Refused are headers that the service sets itself, that
 * belong to the connection, or that would make the answer unreadable, so that no header is sent twice or forged.
 */

const reserved: ReadonlyMap<string, string> = new Map([
  ...because("the service sets it itself", [
    "content-type",
    "user-agent",
    "x-event-type",
    "x-correlation-id",
    "x-event-id",
    "x-source-event-id",
    "traceparent",
    "tracestate",
    "baggage",
  ]),
  ...because("it belongs to the connection", [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "upgrade",
    "http2-settings",
    "expect",
  ]),
  ...because("the service neither encodes the body nor decodes the answer", [
    "content-encoding",
    "accept-encoding",
    "range",
  ]),
  ...because("the service keeps no cookies", ["cookie", "cookie2", "set-cookie", "set-cookie2"]),
]);

const reservedPrefixes: readonly [prefix: string, why: string][] = [
  ["webhook-", "the service sets the headers of its signature itself"],
  ["x-postrider-", "the prefix belongs to the service"],
];

export const maxHeaders = 20;
const maxNameLength = 64;
const maxValueLength = 4_096;
/** The most bytes of all names and values. Most receivers accept 8 KiB to 16 KiB of headers, including the service's own. */
const maxBytes = 6_144;

/** The form of a header's name: a token (RFC 9110, section 5.6.2). */
const namePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Printable ASCII without blanks at its ends: no line ends, no NUL, and no bytes that receivers decode differently. */
const valuePattern = /^[!-~](?:[ -~]*[!-~])?$/;

/** Why a name is refused, as words after `headers.<name> `; undefined when it is accepted. The name may be any text. */
export function nameFault(name: string): string | undefined {
  if (name.length > maxNameLength) return `must have a name of at most ${maxNameLength} characters`;
  if (!namePattern.test(name)) return "is not a valid header name: use letters, digits and hyphens";
  const lower = name.toLowerCase();
  const why = reserved.get(lower) ?? reservedPrefixes.find(([prefix]) => lower.startsWith(prefix))?.[1];
  return why === undefined ? undefined : `is reserved: ${why}`;
}

/** Why a value is refused, as words after `headers.<name> `. Never contains the value. */
export function valueFault(value: string): string | undefined {
  if (value === "") return "must not be empty";
  if (value.length > maxValueLength) return `must be at most ${maxValueLength} characters`;
  if (!valuePattern.test(value)) return "must be printable ASCII and must not begin or end with a blank";
  return undefined;
}

/** Why the number or the size of all headers is refused, as words after `headers `. */
export function sizeFault(headers: readonly { name: string; value: string }[]): string | undefined {
  if (headers.length > maxHeaders) return `must have at most ${maxHeaders} entries`;
  const names = new Set<string>();
  let bytes = 0;
  for (const { name, value } of headers) {
    if (names.has(name.toLowerCase())) return `must not name ${name} twice (names ignore case)`;
    names.add(name.toLowerCase());
    bytes += name.length + value.length;
  }
  return bytes > maxBytes ? `must have at most ${maxBytes} bytes of names and values together` : undefined;
}

function because(why: string, names: readonly string[]): [name: string, why: string][] {
  return names.map((name) => [name, why]);
}
