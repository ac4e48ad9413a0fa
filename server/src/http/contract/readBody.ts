import type { Readable } from "node:stream";
import { ApiError } from "./errors.ts";

export interface BodyLimits {
  maxBytes: number;
  /** The length that the request states; undefined when it is chunked. */
  statedBytes: number | undefined;
  /** Told of each piece before it is kept; false when there is no room for it. */
  take: (bytes: number) => boolean;
}

/** The size that is allocated for a body before it arrives. */
const firstBytes = 16 * 1024;

/**
 * Reads a body into one buffer, which grows as the body does: neither its stated length nor many small pieces cost
 * more than its bytes.
 * @throws {ApiError} 413 when it is too large, 503 when there is no room, 400 when it ends early.
 */
export function readBody(source: Readable, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, statedBytes, take } = limits;
  return new Promise((resolve, reject) => {
    let bytes: Buffer = nothing;
    let length = 0;
    const fail = (error: ApiError): void => {
      source.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      source.on("error", () => undefined);
      source.pause();
      reject(error);
    };
    const onData = (piece: Buffer): void => {
      if (length + piece.length > maxBytes) return fail(tooLarge());
      if (!take(piece.length)) return fail(noRoom());
      // A body in one piece is used as it came.
      if (length === 0 && piece.length === statedBytes) bytes = piece;
      else bytes = appended(bytes, length, piece);
      length += piece.length;
    };
    const onEnd = (): void => resolve(bytes.subarray(0, length));
    const onClose = (): void => fail(new ApiError(400, "the request ended before its body"));
    if (statedBytes !== undefined && statedBytes > maxBytes) return fail(tooLarge());
    source.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
  });
}

const nothing = Buffer.alloc(0);

function appended(bytes: Buffer, length: number, piece: Buffer): Buffer {
  const needed = length + piece.length;
  let whole = bytes;
  if (needed > bytes.length) {
    whole = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length, firstBytes));
    bytes.copy(whole, 0, 0, length);
  }
  piece.copy(whole, length);
  return whole;
}

function tooLarge(): ApiError {
  return new ApiError(413, "the body is larger than the limit (POSTRIDER_MAX_BODY_BYTES)");
}

function noRoom(): ApiError {
  return new ApiError(503, "the service has no room for more bodies: try again", { retryAfterSeconds: 1 });
}
