import { type Client, createClient } from "../../../sdk/src/client.ts";
import type { Connection } from "../profile/credential.ts";

/** About ten minutes of trying: an end that is not told makes the message come again. */
const patientAttempts = 24;

/**
 * What a consumer needs of a client, with patience for what ends a message: a service that is being started again must
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
