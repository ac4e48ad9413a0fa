import { type Client, createClient } from "../../../sdk/src/client.ts";
import type { Connection } from "../profile/credential.ts";
import type { Output } from "../output.ts";
import { askAloud } from "../session.ts";

/** 24 attempts take 6 minutes when connections are refused, 10 when they time out. If all fail, the message is claimed again. */
const patientAttempts = 24;

/**
 * The operations of a client that a consumer uses. Acknowledging, releasing and rejecting are retried for minutes, so that a
 * restart of the service does not cause a message to be processed twice. `say` is called while the service does not answer.
 */
export function patiently(
  { url: baseUrl, key: apiKey }: Connection,
  say: Output["say"],
): Pick<
  Client,
  "claimMessages" | "extendClaims" | "acknowledgeMessages" | "releaseMessages" | "rejectMessages"
> {
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
    claimMessages: (...inputs) => brief.claimMessages(...inputs),
    extendClaims: (...inputs) => brief.extendClaims(...inputs),
    acknowledgeMessages: (...inputs) => patient.acknowledgeMessages(...inputs),
    releaseMessages: (...inputs) => patient.releaseMessages(...inputs),
    rejectMessages: (...inputs) => patient.rejectMessages(...inputs),
  };
}
