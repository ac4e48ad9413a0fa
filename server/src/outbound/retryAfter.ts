const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const rfc850Date = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Parses `Retry-After` into milliseconds from now (RFC 9110 §10.2.3: seconds, or one of three date formats); null if it is
 * invalid. The formats are checked before `Date.parse`, which accepts nearly any text.
 */
export function retryAfterMs(header: string, nowMs: number): number | null {
  const value = header.trim();
  if (/^\d+$/.test(value)) {
    return Number(value) * 1000;
  }
  const date =
    imfDate.test(value) || rfc850Date.test(value) ? value : asctimeDate.test(value) ? `${value} GMT` : "";
  const atMs = Date.parse(date);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
