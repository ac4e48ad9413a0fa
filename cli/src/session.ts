import { type Client, createClient } from "../../sdk/src/client.ts";
import { type Output, plain } from "./output.ts";
import type { Connection } from "./profile/credential.ts";
import type { SecretSource } from "./profile/readSecret.ts";

/** The parts of a command's environment. */
export interface Session {
  out: Output;
  env: NodeJS.ProcessEnv;
  stdin: SecretSource;
  /** The service, as the options, the environment and the profile say. */
  connect: () => Promise<Service>;
  /** Its address, which needs no credential. */
  url: () => string;
  /** Aborts when somebody asks the command to end; the second time it ends at once. Only a command that asks is told. */
  untilStopped: () => AbortSignal;
}

export interface Service {
  connection: Connection;
  client: Client;
  /** The bytes of an item as they were accepted, which parsed and printed again are others. */
  readPayloadText: (id: string) => Promise<string>;
  /** The time by the service's clock, as its last answer said; this machine's clock may be minutes off. */
  nowMs: () => number;
}

/** Somebody waits for the answer, or for the word that there is none: about two seconds, or thirty when the service is silent. */
const patience = { maxAttempts: 4, retryBaseMs: 250, deadlineMs: 30_000 };

/** How long a service may be silent until somebody is told that the command waits for it. */
const silenceMs = 5_000;

/** The service of a connection; the programs of this package use its public interface alone. */
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
    client: createClient({ baseUrl, apiKey, fetch: noteTime, ...patience }),
    readPayloadText: async (id) => (await texts.readPayload(id)) as string,
    nowMs: () => Date.now() + aheadMs,
  };
}

/** `fetch`, which says of a service that is silent that it waits for it. */
function askAloud(say: Output["say"]): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : input.toString();
    // A claim may have been told to wait for messages.
    const isLongPoll = url.endsWith("/claim");
    const timer = isLongPoll
      ? undefined
      : setTimeout(() => say(`waiting for ${plain(url)} to answer`), silenceMs);
    try {
      return await fetch(input, init);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Gives the text of a good answer as a JSON string, because the client parses what it gets. */
function asText(ask: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await ask(input, init);
    if (!response.ok) return response;
    return new Response(JSON.stringify(await response.text()), { headers: response.headers });
  };
}
