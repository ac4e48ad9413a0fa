import { Stripe } from "stripe";
import type { StripeConfig } from "../config/config.ts";
import { ApiError } from "../http/contract/errors.ts";
import { createCheckedHttpClient } from "./checkedAnswers.ts";

/** How long the processor may keep a request waiting without a byte. */
const defaultTimeoutMs = 10_000;

/**
 * The client of the payment processor. It repeats a request only after its connection was closed, and with the same
 * idempotency key; what else may be repeated is decided where the request is made.
 */
export function createProcessor(config: StripeConfig, timeoutMs = defaultTimeoutMs): Stripe {
  return new Stripe(config.secretKey, {
    maxNetworkRetries: 0,
    telemetry: false,
    httpClient: createCheckedHttpClient(),
    timeout: timeoutMs,
    appInfo: { name: "postrider" },
    ...(config.apiBase !== undefined && addressOf(config.apiBase)),
  });
}

function addressOf(apiBase: string): { protocol: "http" | "https"; host: string; port: number } {
  const url = new URL(apiBase);
  const protocol = url.protocol === "http:" ? "http" : "https";
  const port = url.port === "" ? (protocol === "http" ? 80 : 443) : Number(url.port);
  return { protocol, host: url.hostname.replace(/^\[|\]$/g, ""), port };
}

/**
 * Runs a request to the processor on behalf of a caller.
 * @throws {ApiError} 503 when it cannot answer now, 502 when it refuses, which an operator has to look into.
 */
export async function askProcessor<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw toApiError(error);
  }
}

function toApiError(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  const status = error.statusCode;
  if (status === undefined || status === 409 || status === 429 || status >= 500) {
    return new ApiError(503, "the payment processor does not answer: try again", {
      cause: error,
      retryAfterSeconds: 5,
    });
  }
  return new ApiError(502, "the payment processor refused the request: its settings need an operator", {
    cause: error,
  });
}
