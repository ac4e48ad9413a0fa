import type { Stripe } from "stripe";
import { stripeLibrary } from "./stripeLibrary.ts";

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;
type Answer = Awaited<ReturnType<HttpClient["makeRequest"]>>;

/**
 * The library's HTTP client, wrapped so that answers of others, such as a gateway, fail. The library treats any JSON
 * without an `error` as success, even a gateway's 502 with its own message, and a batch of usage would count as exported.
 */
export function createCheckedHttpClient(): HttpClient {
  const client = stripeLibrary().createNodeHttpClient();
  return {
    getClientName: () => client.getClientName(),
    makeRequest: async (...request) => checked(await client.makeRequest(...request)),
  };
}

/** Makes `toJSON` reject, which the library treats as an unreadable answer: the request may have been carried out. */
function checked(answer: Answer): Answer {
  const readJson = answer.toJSON.bind(answer);
  answer.toJSON = async () => {
    const json: unknown = await readJson();
    if (isOfProcessor(json, answer.getStatusCode())) return json;
    throw new Error(`the answer (${answer.getStatusCode()}) is not the processor's`);
  };
  return answer;
}

/** Every object of the processor names its type in `object`, and every refusal has an `error`. */
function isOfProcessor(json: unknown, status: number): boolean {
  if (typeof json !== "object" || json === null) return false;
  if ("error" in json) return typeof json.error === "object" && json.error !== null;
  return status >= 200 && status < 300 && "object" in json && typeof json.object === "string";
}
