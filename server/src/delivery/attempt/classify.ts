import type { ExchangeError, ExchangeResponse, ExchangeResult } from "../../outbound/exchangeResult.ts";

/** What one attempt means for its delivery. */
export type Verdict =
  | { outcome: "delivered" }
  | {
      outcome: "retry";
      /** For a person; kept on the attempt. */
      error: string;
      /** False when the receiver is alive and only asks for time, so that the failure is no reason to disable it. */
      countsTowardDisabling: boolean;
      /** The receiver, or what stands before it, is overloaded: send it less. */
      slowDown: boolean;
    }
  | { outcome: "gone"; error: string }
  /** It did not leave this process, which is nobody else's fault. */
  | { outcome: "unsent"; error: string };

/** Too long a `location` says nothing to a person. */
const maxLocationLength = 200;
const askingForTime = new Set([408, 425, 429]);
const overloaded = new Set([429, 502, 503, 504]);
const delivered: Verdict = { outcome: "delivered" };

/**
 * Judges an attempt by Standard Webhooks' rules: 2xx delivers, 410 disables the target, all else is tried again.
 * Redirects are failures like any other and are never followed.
 */
export function classify(result: ExchangeResult): Verdict {
  switch (result.kind) {
    case "response":
      return classifyResponse(result);
    case "error":
      if (isUnsent(result)) return { outcome: "unsent", error: result.message };
      return {
        outcome: "retry",
        error: result.message,
        // These are faults that cannot be laid at the receiver's door.
        countsTowardDisabling: result.code !== "other" && result.code !== "local",
        slowDown: result.code === "timeout" || result.code === "connect_timeout",
      };
  }
}

/** Whether nothing was sent because this process lacked something: no attempt was made. */
function isUnsent({ code, sent }: ExchangeError): boolean {
  return code === "local" && !sent;
}

function classifyResponse(response: ExchangeResponse): Verdict {
  const { status } = response;
  if (status >= 200 && status < 300) {
    return delivered;
  }
  if (status === 410) {
    return { outcome: "gone", error: "receiver answered 410: it wants no more deliveries" };
  }
  return {
    outcome: "retry",
    error: describe(response),
    countsTowardDisabling: !askingForTime.has(status),
    slowDown: overloaded.has(status),
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
