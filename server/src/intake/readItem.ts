import type { IncomingHttpHeaders } from "node:http";
import { parseJson } from "../http/contract/json.ts";
import { ApiError } from "../http/contract/errors.ts";
import type { NewContent } from "../items/item.ts";

/** The attributes of an item, without its key, payload and trace context. */
type ItemDescription = Omit<NewContent, "key" | "payload" | "traceContext">;

const maxIdempotencyKeyLength = 255;
const maxOrderingKeyLength = 255;
const printable = /^[\x20-\x7e]{1,256}$/;
const correlationPattern = /^[A-Za-z0-9_-]{1,128}$/;
/** Matches control characters. Node decodes header bytes as Latin-1. */
const latinControls = /[^\x20-\x7e\x80-\xff]/;

/**
 * Reads the attributes of an item from its headers and its body, which must be JSON. The body's `event_type` takes precedence
 * over the header's.
 * @throws {ApiError} 400 that names the field or header.
 */
export function readItem(headers: IncomingHttpHeaders, body: Buffer): ItemDescription {
  const document = parseJson(body);
  return {
    eventType: bodyEventType(document) ?? headerEventType(headers),
    correlationId: matching(
      headers,
      "x-correlation-id",
      correlationPattern,
      "X-Correlation-ID must be 1 to 128 letters, digits, - and _",
    ),
    orderingKey: bounded(headers, "x-ordering-key", "X-Ordering-Key", maxOrderingKeyLength),
    idempotencyKey: unquoted(
      bounded(headers, "idempotency-key", "Idempotency-Key", maxIdempotencyKeyLength + 2),
    ),
  };
}

function bodyEventType(document: unknown): string | null {
  if (document === null || typeof document !== "object" || Array.isArray(document)) return null;
  const value = (document as { event_type?: unknown }).event_type;
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw new ApiError(400, "event_type must be a string");
  if (!printable.test(value))
    throw new ApiError(400, "event_type must be 1 to 256 printable ASCII characters");
  return value;
}

function headerEventType(headers: IncomingHttpHeaders): string | null {
  return matching(
    headers,
    "x-event-type",
    printable,
    "X-Event-Type must be 1 to 256 printable ASCII characters",
  );
}

function matching(
  headers: IncomingHttpHeaders,
  name: string,
  pattern: RegExp,
  message: string,
): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  if (typeof value !== "string" || !pattern.test(value)) throw new ApiError(400, message);
  return value;
}

function bounded(
  headers: IncomingHttpHeaders,
  name: string,
  title: string,
  maxLength: number,
): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  if (
    typeof value !== "string" ||
    value.length === 0 ||
    value.length > maxLength ||
    latinControls.test(value)
  ) {
    throw new ApiError(
      400,
      `${title} must be 1 to ${Math.min(maxLength, 255)} characters without control characters`,
    );
  }
  return value;
}

/** The IETF draft puts the idempotency key in quotes; most clients send it without. Both forms name the same key. */
function unquoted(value: string | null): string | null {
  if (value === null) return null;
  const key = value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  if (key.length === 0 || key.length > maxIdempotencyKeyLength) {
    throw new ApiError(400, `Idempotency-Key must be 1 to ${maxIdempotencyKeyLength} characters`);
  }
  return key;
}
