import { createHmac, randomBytes } from "node:crypto";
import { reasonOf } from "../exitCodes.ts";
import { version } from "../version.ts";

/** The result of forwarding a message. */
export type Outcome =
  | { kind: "answered"; status: number; durationMs: number }
  | { kind: "unreachable"; reason: string; durationMs: number };

export interface Forwarding {
  url: string;
  secret: string;
  timeoutMs: number;
}

export interface Forwarded {
  /** Sent as `webhook-id`. */
  id: string;
  event_type: string | null;
  correlation_id: string | null;
}

/** Posts an item like a delivery to a webhook. @param body the payload, byte for byte as it was accepted. */
export async function forward(
  { url, secret, timeoutMs }: Forwarding,
  item: Forwarded,
  body: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const begunMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - begunMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers: headersOf(item, body, secret),
      // A redirect counts as a failure, as for webhooks.
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    return { kind: "answered", status: response.status, durationMs: elapsedMs() };
  } catch (error) {
    return { kind: "unreachable", reason: reasonOf(error), durationMs: elapsedMs() };
  }
}

function headersOf(item: Forwarded, body: string, secret: string): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000);
  return {
    "content-type": "application/json",
    "user-agent": `Postrider/${version} listen`,
    "webhook-id": item.id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatureOf(secret, item.id, timestamp, body),
    ...(item.event_type !== null && { "x-event-type": headerText(item.event_type) }),
    ...(item.correlation_id !== null && { "x-correlation-id": item.correlation_id }),
  };
}

/** Encodes a text for a header: `fetch` sends header values as Latin-1, so each byte of the UTF-8 text becomes one character. */
function headerText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

const secretPrefix = "whsec_";
/** Standard Webhooks requires 24 to 64 bytes. */
const secretBytes = 24;

export function newSigningSecret(): string {
  return `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`;
}

/** Whether a text is a signing secret like those of targets: `whsec_` and 24 to 64 bytes in base64. */
export function isSigningSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(secretPrefix.length), "base64");
  return text.startsWith(secretPrefix) && bytes.length >= secretBytes && bytes.length <= 64;
}

/** The `webhook-signature` of Standard Webhooks, as deliveries to webhooks have it. */
function signatureOf(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  return `v1,${digest}`;
}
