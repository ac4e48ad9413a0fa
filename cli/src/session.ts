import { type Client, createClient } from "../../sdk/src/client.ts";
import { type Output, plain } from "./output.ts";
import type { Connection } from "./profile/credential.ts";
import { parseExactly } from "./parseExactly.ts";
import type { SecretSource } from "./profile/readSecret.ts";

/** Everything but its arguments that a command needs: output, environment, standard input and the service. */
export interface Session {
  out: Output;
  env: NodeJS.ProcessEnv;
  stdin: SecretSource;
  /** Finds the service by the options, the environment and the profile. */
  connect: () => Promise<Service>;
  /** The service's address, for which no API key is needed. */
  url: () => string;
  /** A signal that aborts at the first Ctrl-C; the second one ends the process. If never called, the first one ends it. */
  untilStopped: () => AbortSignal;
}

export interface Service {
  connection: Connection;
  client: Client;
  /** Reads an item's payload as it was accepted. Parsing and printing it again could change its bytes. */
  readPayloadText: (id: string) => Promise<string>;
  /** The present by the service's clock, computed from its last answer; this machine's clock may be minutes off. */
  nowMs: () => number;
}

/** A user waits: calls fail after about 2 s when connections are refused, and after 30 s when the service does not answer. */
const patience = { maxAttempts: 4, retryBaseMs: 250, deadlineMs: 30_000 };

/** Time without an answer after which the user is told that the command waits for the service. */
const silenceMs = 5_000;
/** The longest time for which a claim waits for messages. */
const longPollMs = 20_000;

/** Opens a connection's service. The command uses only the service's public interface. */
export function openService(connection: Connection, say: Output["say"]): Service {
  const { url: baseUrl, key: apiKey } = connection;
  const ask = askAloud(say);
  const texts = createClient({ baseUrl, apiKey, fetch: asText(ask), ...patience });
  let aheadMs = 0;
  const noteTime = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await ask(...request);
    const saidMs = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(saidMs)) aheadMs = saidMs - Date.now();
    return response;
  };
  return {
    connection,
    client: createClient({ baseUrl, apiKey, fetch: noteTime, parseJson: parseExactly, ...patience }),
    readPayloadText: async (id) => (await texts.readPayload(id)) as string,
    nowMs: () => Date.now() + aheadMs,
  };
}

/** Returns a `fetch` that prints a message when the service has not answered for {@link silenceMs}, or a claim for longer. */
export function askAloud(say: Output["say"]): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : input.toString();
    // A claim may be a long poll, which waits for messages without an answer.
    const patienceMs = silenceMs + (url.endsWith("/claim") ? longPollMs : 0);
    const timer = setTimeout(() => say(`waiting for ${plain(url)} to answer`), patienceMs);
    try {
      return await fetch(input, init);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Returns a `fetch` that turns the body of a successful answer into a JSON string, because the client parses every body. */
function asText(ask: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await ask(input, init);
    if (!response.ok) return response;
    return new Response(JSON.stringify(await response.text()), { headers: response.headers });
  };
}
