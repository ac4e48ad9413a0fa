import { Stripe } from "stripe";

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;
type Answer = Awaited<ReturnType<HttpClient["makeRequest"]>>;

/**
 * The library's own HTTP client, with answers that are not the processor's told from those that are. The library takes
 * whatever is JSON without an `error` for success, also a gateway's 502 with a message of its own: a batch of usage would
 * count as exported.
 */
export function createCheckedHttpClient(): HttpClient {
  const client = Stripe.createNodeHttpClient();
  return {
    getClientName: () => client.getClientName(),
    makeRequest: async (...request) => checked(await client.makeRequest(...request)),
  };
}

/** What its `toJSON` rejects with is, to the library, an answer that is no JSON: nobody knows what became of the request. */
function checked(answer: Answer): Answer {
  const readJson = answer.toJSON.bind(answer);
  answer.toJSON = async () => {
    const json: unknown = await readJson();
    if (isOfProcessor(json, answer.getStatusCode())) return json;
    throw new Error(`the answer (${answer.getStatusCode()}) is not the processor's`);
  };
  return answer;
}

/** Everything that the processor has names its type in `object`; its refusals have an `error`. */
function isOfProcessor(json: unknown, status: number): boolean {
  if (typeof json !== "object" || json === null) return false;
  if ("error" in json) return typeof json.error === "object" && json.error !== null;
  return status >= 200 && status < 300 && "object" in json && typeof json.object === "string";
}
