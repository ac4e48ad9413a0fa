import type { ClaimedMessage } from "../../../sdk/src/client.ts";
import { reasonOf } from "../reasonOf.ts";
import { version } from "../version.ts";
import { signatureOf } from "./sign.ts";

/** What came of one forwarding. */
export type Outcome =
  | { kind: "answered"; status: number; durationMs: number }
  | { kind: "unreachable"; reason: string; durationMs: number };

export interface Forwarding {
  url: string;
  secret: string;
  timeoutMs: number;
}

/** Posts a message as a webhook would arrive. @param body the payload's bytes as they were accepted. */
export async function forward(
  { url, secret, timeoutMs }: Forwarding,
  message: ClaimedMessage,
  body: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const begunMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - begunMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers: headersOf(message, body, secret),
      // A redirect is no success, as with webhooks.
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    return { kind: "answered", status: response.status, durationMs: elapsedMs() };
  } catch (error) {
    return { kind: "unreachable", reason: reasonOf(error), durationMs: elapsedMs() };
  }
}

function headersOf(message: ClaimedMessage, body: string, secret: string): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000);
  return {
    "content-type": "application/json",
    "user-agent": `Postrider/${version} listen`,
    "webhook-id": message.id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatureOf(secret, message.id, timestamp, body),
    ...(message.event_type !== null && { "x-event-type": headerText(message.event_type) }),
    ...(message.correlation_id !== null && { "x-correlation-id": message.correlation_id }),
  };
}

/** Header values are Latin-1; UTF-8 goes into them byte by byte. */
function headerText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
