import { SchemaError } from "./standardSchema.ts";
import {
  type VerifiedWebhook,
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./verifyWebhook.ts";

/** The parts of a receiver of deliveries, independent of the framework. */
export interface ReceiverOptions<Payload = unknown> extends Pick<
  VerifyOptions<Payload>,
  "schema" | "toleranceSeconds"
> {
  /** `whsec_…`: one, both while one is rotated, or where to ask for them at each delivery. */
  secrets: Secrets | (() => Secrets | Promise<Secrets>);
  /**
   * Handles a delivery; when it returns, 204 is answered. An error is passed on to the framework, whose 500 makes Postrider
   * retry: the same delivery may arrive twice, with the same `id`.
   */
  handle: (delivery: VerifiedWebhook<Payload>) => unknown;
  /** Told of deliveries that are answered 400: not signed with one of the secrets, too old, or not as the schema says. */
  onRefused?: (error: WebhookVerificationError | SchemaError) => void;
  /** The largest body that is read, in bytes; 1 MiB unless given, which is what the service takes unless told otherwise. */
  maxBytes?: number;
}

type Secrets = string | readonly string[];

export interface ReceiverAnswer {
  status: 204 | 400 | 413;
  /** Why it was refused; nothing of it is a secret. */
  error?: string;
}

export const defaultMaxBytes = 1024 * 1024;

/** The body is larger than `maxBytes`. */
export class BodyTooLargeError extends Error {
  override name = "BodyTooLargeError";
}

/** Something has parsed the body before, so that the bytes that were signed are lost. The message says how to mend it. */
export class BodyAlreadyReadError extends Error {
  override name = "BodyAlreadyReadError";
}

/** Reads, verifies and handles a delivery. @throws what the handler, `secrets` or the reading throws. */
export async function receiveDelivery<Payload>(
  { secrets, handle, onRefused, ...options }: ReceiverOptions<Payload>,
  headers: WebhookHeaders,
  readBody: () => Promise<string | Uint8Array>,
): Promise<ReceiverAnswer> {
  let delivery: VerifiedWebhook<Payload>;
  try {
    const body = await readBody();
    const known = typeof secrets === "function" ? await secrets() : secrets;
    delivery = await verifyWebhook(known, headers, body, options);
  } catch (error) {
    if (error instanceof BodyTooLargeError) return { status: 413, error: error.message };
    if (!(error instanceof WebhookVerificationError || error instanceof SchemaError)) throw error;
    onRefused?.(error);
    return { status: 400, error: error.message };
  }
  await handle(delivery);
  return { status: 204 };
}

/** The pieces as one. @throws {BodyTooLargeError} */
export async function gather(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new BodyTooLargeError(`the body is larger than ${maxBytes} bytes`);
    read.push(piece);
  }
  const whole = new Uint8Array(bytes);
  let end = 0;
  for (const piece of read) {
    whole.set(piece, end);
    end += piece.length;
  }
  return whole;
}
