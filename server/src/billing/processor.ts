import { createRequire } from "node:module";
import type { Stripe } from "stripe";
import type { StripeConfig } from "../config/config.ts";
import { type Period, periodBounds } from "./ledger.ts";

const require = createRequire(import.meta.url);

/**
 * The payment processor's library, loaded at its first use: its 218 modules take a tenth of a start's CPU time, and a service
 * without live billing never needs them. Required as a CommonJS module, the module is the class itself.
 */
export function stripeLibrary(): typeof Stripe {
  return require("stripe") as typeof Stripe;
}

/** How long a request may wait without receiving a byte. */
const defaultTimeoutMs = 10_000;

/**
 * Creates the client of the payment processor. It repeats a request only when the connection was closed, with the same
 * idempotency key; callers make all other retries.
 */
export function createProcessor(config: StripeConfig, timeoutMs = defaultTimeoutMs): Stripe {
  return new (stripeLibrary())(config.secretKey, {
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

/** Client of the payment processor, and the service's settings there. */
export interface Processor {
  stripe: Stripe;
  config: StripeConfig;
}

/** Why a request failed: the processor does not answer now, or it refused, and an operator has to find out why. */
export interface ProcessorFailure {
  outcome: "unavailable" | "refused";
  cause: Error;
}

/** Runs a request to the processor, and returns its errors as values. @throws errors that are not the processor's. */
export async function askProcessor<T>(
  request: () => Promise<T>,
): Promise<{ outcome: "answered"; answer: T } | ProcessorFailure> {
  try {
    return { outcome: "answered", answer: await request() };
  } catch (error) {
    if (!(error instanceof stripeLibrary().errors.StripeError)) throw error;
    const status = error.statusCode;
    const isTransient = status === undefined || status === 409 || status === 429 || status >= 500;
    return { outcome: isTransient ? "unavailable" : "refused", cause: error };
  }
}

/**
 * Runs a chore's work several times at once, so that a round of thousands of customers does not last for hours. Four at a time
 * make some 30 requests per second, a third of what the processor allows. Ends when all have ended.
 * @throws the first error.
 */
export async function inParallel(work: () => Promise<void>, times = 4): Promise<void> {
  const ends = await Promise.allSettled(Array.from({ length: times }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/**
 * Reads the total of the processor's meter for a customer and a month, up to `nowSeconds`. The meter lags behind: usage
 * sent a minute ago may be missing.
 * @throws the processor's errors.
 */
export async function readMeterTotal(
  processor: Processor,
  customerId: string,
  period: Period,
  nowSeconds: number,
): Promise<number> {
  const { startSeconds, endSeconds } = periodBounds(period);
  // The processor accepts only whole minutes.
  const nextMinute = Math.floor(nowSeconds / 60) * 60 + 60;
  const summaries = await processor.stripe.billing.meters.listEventSummaries(processor.config.meterId, {
    customer: customerId,
    start_time: startSeconds,
    end_time: Math.min(endSeconds, Math.max(nextMinute, startSeconds + 60)),
    limit: 100,
  });
  return summaries.data.reduce((total, summary) => total + summary.aggregated_value, 0);
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;
type Answer = Awaited<ReturnType<HttpClient["makeRequest"]>>;

/**
 * The library's HTTP client, wrapped so that answers that are not the processor's, such as a gateway's, fail. The library
 * treats any JSON without an `error` as success, even a gateway's 502, so that a batch of usage would count as exported.
 */
function createCheckedHttpClient(): HttpClient {
  const client = stripeLibrary().createNodeHttpClient();
  return {
    getClientName: () => client.getClientName(),
    makeRequest: async (...request) => checked(await client.makeRequest(...request)),
  };
}

/**
 * Makes `toJSON` reject answers that are not the processor's. The library treats that as an unreadable answer, after which
 * the request may have been carried out.
 */
function checked(answer: Answer): Answer {
  const readJson = answer.toJSON.bind(answer);
  answer.toJSON = async () => {
    const json: unknown = await readJson();
    if (isOfProcessor(json, answer.getStatusCode())) return json;
    throw new Error(`the answer (${answer.getStatusCode()}) is not from the payment processor`);
  };
  return answer;
}

/** Whether an answer is the processor's: each of its objects has its type in `object`, and each refusal has an `error`. */
function isOfProcessor(json: unknown, status: number): boolean {
  if (typeof json !== "object" || json === null) return false;
  if ("error" in json) return typeof json.error === "object" && json.error !== null;
  return status >= 200 && status < 300 && "object" in json && typeof json.object === "string";
}
