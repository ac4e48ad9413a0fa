import { SchemaError } from "./standardSchema.ts";
import {
  type VerifiedWebhook,
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./verifyWebhook.ts";

/** Options of a receiver of deliveries, the same for all frameworks. */
export interface ReceiverOptions<Payload = unknown> extends Pick<
  VerifyOptions<Payload>,
  "schema" | "toleranceSeconds"
> {
  /** One secret (`whsec_…`), both during a rotation, or a function that returns them for each delivery. */
  secrets: Secrets | (() => Secrets | Promise<Secrets>);
  /**
   * Handles a delivery. When it returns, the answer is 204. An error is passed to the framework, which answers 500, so that
   * Postrider retries. The same delivery may arrive twice, with the same `id`.
   */
  handle: (delivery: VerifiedWebhook<Payload>) => unknown;
  /** Called for each delivery answered with 400: wrong signature, timestamp too far from now, or payload against the schema. */
  onRefused?: (error: WebhookVerificationError | SchemaError) => void;
  /** Size limit of a body in bytes; 1 MiB by default, which is also the service's default limit of an item. */
  maxBytes?: number;
}

type Secrets = string | readonly string[];

export interface ReceiverAnswer {
  status: 204 | 400 | 413;
  /** The reason of a refusal; it contains no secret. */
  error?: string;
}

export const defaultMaxBytes = 1024 * 1024;

/** The body is larger than `maxBytes`. */
export class BodyTooLargeError extends Error {
  override name = "BodyTooLargeError";
}

/** The body was parsed before, so that the signed bytes are lost. The message says how to fix that. */
export class BodyAlreadyReadError extends Error {
  override name = "BodyAlreadyReadError";
}

/** Reads, verifies and handles a delivery. @throws the errors of `handle`, `secrets` and `readBody`. */
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

/** Concatenates the pieces of a body. @throws {BodyTooLargeError} */
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
