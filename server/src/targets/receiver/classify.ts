import type { AttemptOutcome, AttemptResult } from "../../items/delivery.ts";
import type { ExchangeError, ExchangeResponse, ExchangeResult } from "../../outbound/exchangeResult.ts";

/** Characters of a `location` header that are shown. */
const maxLocationLength = 200;
const askingForTime = new Set([408, 425, 429]);
const overloaded = new Set([429, 502, 503, 504]);
const delivered: AttemptOutcome = { kind: "delivered" };

/** Bytes of a receiver's answer that are read, and those of them that are kept on the attempt. */
export const bodyLimitBytes = 16 * 1024;
const keptBodyBytes = 1024;

/** The result of an attempt that was one HTTP request: classified, and cut to what an attempt keeps of the answer. */
export function attemptResult(result: ExchangeResult): AttemptResult {
  const answered = result.kind === "response";
  return {
    outcome: classify(result),
    statusCode: answered ? result.status : 0,
    durationMs: result.durationMs,
    responseBody: answered && result.body.length > 0 ? result.body.subarray(0, keptBodyBytes) : null,
    retryAfter: (answered && result.headers["retry-after"]) || null,
  };
}

/**
 * Classifies an attempt by Standard Webhooks' rules: 2xx delivers, 410 disables the target, all else is tried again.
 * Redirects are failures like any other and are never followed.
 */
export function classify(result: ExchangeResult): AttemptOutcome {
  if (result.kind === "error") return classifyError(result);
  const { status } = result;
  if (status >= 200 && status < 300) return delivered;
  if (status === 410) return { kind: "gone", error: "receiver answered 410: it wants no more deliveries" };
  return {
    kind: "retry",
    error: describe(result),
    countsTowardDisabling: !askingForTime.has(status),
    slowDown: overloaded.has(status),
  };
}

function classifyError({ code, message, sent }: ExchangeError): AttemptOutcome {
  // This process lacked something, and nothing was sent: no attempt was made.
  if (code === "local" && !sent) return { kind: "unsent", error: message };
  return {
    kind: "retry",
    error: message,
    // The receiver did not cause these.
    countsTowardDisabling: code !== "other" && code !== "local",
    slowDown: code === "timeout" || code === "connect_timeout",
  };
}

function describe({ status, headers }: ExchangeResponse): string {
  if (status < 300 || status > 399) {
    return `receiver answered ${status}`;
  }
  const { location } = headers;
  if (location === undefined || location === "") {
    return `receiver answered ${status}; redirects are not followed`;
  }
  const shown = location.length > maxLocationLength ? `${location.slice(0, maxLocationLength)}…` : location;
  return `receiver answered ${status} redirect to ${printable(shown)}; redirects are not followed`;
}

/** Header bytes come from outside: control characters must reach neither a log nor PostgreSQL's text (no NUL there). */
function printable(text: string): string {
  return text.replace(/[^\u0020-\u007e…]/g, "?");
}
