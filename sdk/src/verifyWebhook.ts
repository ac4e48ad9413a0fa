import { type Schema, validate } from "./standardSchema.ts";

export { SchemaError } from "./standardSchema.ts";

/** A delivery cannot be trusted: wrong secret, changed content, or a timestamp too far from now. */
export class WebhookVerificationError extends Error {
  override name = "WebhookVerificationError";
}

/** A verified delivery. */
export interface VerifiedWebhook<Payload = unknown> {
  /** The delivery's id, the same on every attempt: store it to recognize a delivery that arrives twice. */
  id: string;
  /** When this attempt was signed, in Unix seconds. */
  timestamp: number;
  /**
   * The event type that the sender gave: `event_type` in the body, else the header `X-Event-Type`. The header is not signed, so
   * check the payload with a schema.
   */
  eventType: string | null;
  /** The parsed body; with a schema, the schema's output. */
  payload: Payload;
}

export interface VerifyOptions<Payload = unknown> {
  /** Schema of the payload, from any library that implements Standard Schema. */
  schema?: Schema<Payload>;
  /** Maximum distance of the timestamp from the present, in the past or the future; 300 s by default. */
  toleranceSeconds?: number;
  /** The present in Unix milliseconds; by default from the clock. */
  nowMs?: number;
}

/** Headers as `fetch`, Node and most frameworks represent them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a delivery by Standard Webhooks (`standard-webhooks-v1`) and returns its content. During a rotation of the secret, a
 * delivery has a signature for each of both secrets; one that matches is enough.
 * @param secrets one or several secrets (`whsec_…`).
 * @param body the body as received, as bytes or text. Do not parse and serialize it: that may change its bytes.
 * @throws {WebhookVerificationError} when the delivery cannot be trusted.
 * @throws {SchemaError} when its signature is valid, and its payload violates the schema.
 */
export async function verifyWebhook<Payload = unknown>(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  body: string | Uint8Array,
  options: VerifyOptions<Payload> = {},
): Promise<VerifiedWebhook<Payload>> {
  const id = headerOf(headers, "webhook-id");
  const timestamp = readTimestamp(headerOf(headers, "webhook-timestamp"), options);
  const signatures = readSignatures(headerOf(headers, "webhook-signature"));
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const secret of [secrets].flat()) {
    if (await isSignedBy(secret, signatures, signed)) {
      const payload = parse(bytes);
      const eventType = eventTypeOf(payload, headers);
      const checked = options.schema === undefined ? payload : await validate(options.schema, payload);
      return { id, timestamp, eventType, payload: checked as Payload };
    }
  }
  throw new WebhookVerificationError("no signature matches");
}

const defaultToleranceSeconds = 300;
/** A rotation has two signatures; the limit keeps an attacker from occupying the receiver with many. */
const maxSignatures = 10;

function headerOf(headers: WebhookHeaders, name: string): string {
  const text = findHeader(headers, name);
  if (text === undefined) throw new WebhookVerificationError(`the header ${name} is missing`);
  return text;
}

function findHeader(headers: WebhookHeaders, name: string): string | undefined {
  const value =
    typeof headers["get"] === "function"
      ? (headers as { get(name: string): string | null }).get(name)
      : lookUp(headers, name);
  const text: unknown = Array.isArray(value) ? value[0] : value;
  return typeof text === "string" && text !== "" ? text : undefined;
}

function eventTypeOf(payload: unknown, headers: WebhookHeaders): string | null {
  const { event_type: type } = Object(payload) as { event_type?: unknown };
  return typeof type === "string" ? type : (findHeader(headers, "x-event-type") ?? null);
}

function lookUp(headers: object, name: string): unknown {
  return Object.entries(headers).find(([other]) => other.toLowerCase() === name)?.[1];
}

function readTimestamp(
  text: string,
  { toleranceSeconds = defaultToleranceSeconds, nowMs }: Pick<VerifyOptions, "toleranceSeconds" | "nowMs">,
): number {
  const timestamp = Number(text);
  if (!/^\d{1,12}$/.test(text)) throw new WebhookVerificationError("the timestamp is not a number");
  const distance = Math.abs((nowMs ?? Date.now()) / 1000 - timestamp);
  // Negated, so that a tolerance that is no number accepts nothing.
  if (!(distance <= toleranceSeconds))
    throw new WebhookVerificationError("the timestamp is too far from now");
  return timestamp;
}

/** The signatures of version 1, which is symmetric (HMAC). */
function readSignatures(header: string): Uint8Array<ArrayBuffer>[] {
  return header
    .split(" ")
    .slice(0, maxSignatures)
    .filter((entry) => entry.startsWith("v1,"))
    .flatMap((entry) => decodeBase64(entry.slice("v1,".length)) ?? []);
}

/** Whether one of the signatures was made with the secret. `crypto.subtle.verify` compares in constant time. */
async function isSignedBy(
  secret: string,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ""));
  if (bytes === undefined || bytes.length === 0) throw new TypeError("the secret is not base64 after whsec_");
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const matches = await Promise.all(
    signatures.map((signature) => crypto.subtle.verify("HMAC", key, signature, signed)),
  );
  return matches.includes(true);
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new WebhookVerificationError("the body is not JSON", { cause });
  }
}
