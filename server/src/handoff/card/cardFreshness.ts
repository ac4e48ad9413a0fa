const seconds = 1_000;
const minutes = 60 * seconds;

/** The freshness of an answer that says nothing about it. */
const defaultAgeMs = 60 * minutes;
/** The shortest time after which a card is read again by itself, whatever the answer says. */
const minAgeMs = 5 * minutes;
const maxAgeMs = 24 * 60 * minutes;
const firstRetryMs = minutes;
const maxRetryMs = 60 * minutes;

/** The caching headers of an answer. */
export interface CacheHeaders {
  "cache-control"?: string | undefined;
  age?: string | undefined;
}

/** For how long a card just read is fresh, in milliseconds (RFC 9111, sections 4.2 and 5.2.2). */
export function freshForMs(headers: CacheHeaders): number {
  const directives = (headers["cache-control"] ?? "")
    .toLowerCase()
    .split(",")
    .map((text) => text.trim());
  if (directives.some((directive) => /^no-(?:cache|store)\b/.test(directive))) return minAgeMs;
  const said = directives.map((directive) => /^max-age="?(\d{1,12})"?$/.exec(directive)?.[1]).find(Boolean);
  if (said === undefined) return defaultAgeMs;
  const usedSeconds = /^\d{1,12}$/.test(headers.age ?? "") ? Number(headers.age) : 0;
  return Math.min(Math.max((Number(said) - usedSeconds) * seconds, minAgeMs), maxAgeMs);
}

/** How long to wait after this many failures in a row to read a card, in milliseconds. */
export function cardRetryMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** Math.min(Math.max(failures, 1) - 1, 10), maxRetryMs);
}
