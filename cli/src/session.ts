import { type Client, createClient } from "../../sdk/src/client.ts";
import type { Output } from "./output.ts";
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

/** A service with a credential. */
export interface Service {
  connection: Connection;
  client: Client;
  /** The bytes of an item as they were accepted, which parsed and printed again are others. */
  readPayloadText: (id: string) => Promise<string>;
  /** The time by the service's clock, as its last answer said; this machine's clock may be minutes off. */
  nowMs: () => number;
}

/** Somebody waits for the answer, or for the word that there is none: about two seconds. */
const patience = { maxAttempts: 4, retryBaseMs: 250 };

/** The service of a connection; the programs of this package use its public interface alone. */
export function openService(connection: Connection): Service {
  const { url: baseUrl, key: apiKey } = connection;
  const texts = createClient({ baseUrl, apiKey, fetch: fetchAsText, ...patience });
  let aheadMs = 0;
  const noteTime = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...request);
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

/** Gives the text of a good answer as a JSON string, because the client parses what it gets. */
async function fetchAsText(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (!response.ok) return response;
  return new Response(JSON.stringify(await response.text()), { headers: response.headers });
}
