import { type Schema, validate } from "./standardSchema.ts";

export { SchemaError } from "./standardSchema.ts";

/** A delivery that is not what it says it is: another secret's, changed on the way, or too old. */
export class WebhookVerificationError extends Error {
  override name = "WebhookVerificationError";
}

/** A verified delivery. */
export interface VerifiedWebhook<Payload = unknown> {
  /** The event's id, the same on every attempt: remember it to notice a delivery that arrives twice. */
  id: string;
  /** When this attempt was signed, in Unix seconds. */
  timestamp: number;
  /**
   * The event type that the sender gave: the body's `event_type`, or the header `X-Event-Type`, which is not signed. Use a
   * schema to check the payload.
   */
  eventType: string | null;
  /** The body as the sender of the item wrote it, parsed; what the schema made of it when there is one. */
  payload: Payload;
}

export interface VerifyOptions<Payload = unknown> {
  /** Schema of the payload, of any library that implements Standard Schema. */
  schema?: Schema<Payload>;
  /** How far the timestamp may be from now, either way; 300 s unless given. */
  toleranceSeconds?: number;
  /** The present, in Unix milliseconds; the clock's unless given. */
  nowMs?: number;
}

/** Headers as `fetch`, Node and most frameworks have them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a delivery by Standard Webhooks (`standard-webhooks-v1`) and gives its content. While a secret is being
 * rotated a delivery carries a signature of both; one that matches is enough.
 * @param secrets `whsec_…`, one or several.
 * @param body The bytes as received, or the same as text. Parsed and printed again they are others.
 * @throws {WebhookVerificationError} when it cannot be trusted.
 * @throws {SchemaError} when it can, and its payload does not fit the schema.
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
/** More signatures than a rotation has are an attempt to keep the receiver busy. */
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
  if (distance > toleranceSeconds) throw new WebhookVerificationError("the timestamp is too far from now");
  return timestamp;
}

/** The signatures of version 1, the symmetric one. */
function readSignatures(header: string): Uint8Array<ArrayBuffer>[] {
  return header
    .split(" ")
    .slice(0, maxSignatures)
    .filter((entry) => entry.startsWith("v1,"))
    .flatMap((entry) => decodeBase64(entry.slice("v1,".length)) ?? []);
}

/** Compares in constant time, which `verify` promises. */
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
