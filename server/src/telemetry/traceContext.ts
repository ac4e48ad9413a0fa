/**
 * The position in a trace from which it continues (W3C Trace Context, version 00): 16 bytes of the trace id, 8 of the span id,
 * and one of flags, whose lowest bit says that the trace is sampled.
 */
export type TraceContext = Buffer;

const contextBytes = 25;
const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;

/**
 * Parses a `traceparent` header; null if it is absent or malformed. Later versions may have fields after the flags, version 00
 * may not.
 */
export function parseTraceparent(header: string | string[] | undefined): TraceContext | null {
  if (typeof header !== "string") return null;
  const found = form.exec(header);
  if (found === null) return null;
  const [, traceId, spanId, flags, more] = found as unknown as [string, string, string, string, string?];
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  if (more !== undefined && header.startsWith("00")) return null;
  return Buffer.from(traceId + spanId + flags, "hex");
}

/** Formats a context as a `traceparent` header. */
export function traceparentOf(context: TraceContext): string {
  const hex = context.toString("hex", 0, contextBytes);
  return `00-${hex.slice(0, 32)}-${hex.slice(32, 48)}-${hex.slice(48)}`;
}

/** The context of an event that begins its own trace; every node derives the same one. */
export function contextOfEvent(eventId: string): TraceContext {
  return Buffer.from(`${eventId}${eventId.slice(16)}01`, "hex");
}
