import { type Client, createClient } from "../../../sdk/src/client.ts";
import type { Connection } from "../profile/credential.ts";
import type { Output } from "../output.ts";
import { askAloud } from "../session.ts";

/** 24 attempts take 6 minutes when connections are refused, 10 when they time out. If all fail, the message is claimed again. */
const patientAttempts = 24;

/**
 * A client for a consumer. Acknowledging, releasing and rejecting are retried for minutes, so that a restart of the service does
 * not cause a message to be processed twice. `say` is called while the service does not answer.
 */
export function patiently({ url: baseUrl, key: apiKey }: Connection, say: Output["say"]): Client {
  const fetch = askAloud(say);
  const brief = createClient({ baseUrl, apiKey, fetch, maxAttempts: 3, retryBaseMs: 250 });
  const patient = createClient({
    baseUrl,
    apiKey,
    fetch,
    maxAttempts: patientAttempts,
    retryBaseMs: 250,
    timeoutMs: 10_000,
  });
  return {
    ...brief,
    acknowledgeMessages: (...inputs) => patient.acknowledgeMessages(...inputs),
    releaseMessages: (...inputs) => patient.releaseMessages(...inputs),
    rejectMessages: (...inputs) => patient.rejectMessages(...inputs),
  };
}
