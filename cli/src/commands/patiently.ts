import { type Client, createClient } from "../../../sdk/src/client.ts";
import type { Connection } from "../profile/credential.ts";

/** About ten minutes of trying: an end that is not told makes the message come again. */
const patientAttempts = 24;

/**
 * The parts of a client that a consumer uses, with retries for ending a message: a service that restarts must
 * not make work that is done be done twice.
 */
export function patiently({
  url: baseUrl,
  key: apiKey,
}: Connection): Pick<
  Client,
  "claimMessages" | "extendClaims" | "acknowledgeMessages" | "releaseMessages" | "rejectMessages"
> {
  const brief = createClient({ baseUrl, apiKey, maxAttempts: 3, retryBaseMs: 250 });
  const patient = createClient({
    baseUrl,
    apiKey,
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
