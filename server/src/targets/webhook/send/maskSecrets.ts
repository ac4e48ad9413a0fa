import type { ExchangeResult } from "../../../outbound/exchangeResult.ts";

const mask = "***";
/** Shorter parts of a secret would mask half of an answer. */
const minLength = 4;

/**
 * Masks the secrets that a request carried in the receiver's answer: some receivers repeat what they get, and neither
 * attempts nor logs may show it. Values are looked for as they are, as JSON and URLs encode them, and without the scheme
 * before them (`Bearer`).
 */
export function maskSecrets(result: ExchangeResult, secrets: readonly string[]): ExchangeResult {
  if (secrets.length === 0) return result;
  const forms = new Set(secrets.flatMap(formsOf).toSorted((one, other) => other.length - one.length));
  const clean = (text: string): string => {
    let masked = text;
    for (const form of forms) masked = masked.replaceAll(form, mask);
    return masked;
  };
  if (result.kind === "error") return { ...result, message: clean(result.message) };
  const { location } = result.headers;
  return {
    ...result,
    headers: location === undefined ? result.headers : { ...result.headers, location: clean(location) },
    body: Buffer.from(clean(result.body.toString("latin1")), "latin1"),
  };
}

function formsOf(value: string): string[] {
  const withoutScheme = value.slice(value.lastIndexOf(" ") + 1);
  return [value, withoutScheme]
    .flatMap((form) => [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)])
    .filter((form) => form.length >= minLength);
}
