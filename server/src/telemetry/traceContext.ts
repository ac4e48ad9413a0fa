/**
 * Where a trace goes on (W3C Trace Context, version 00): 16 bytes of the trace's id, 8 of the span's, and one of flags,
 * whose lowest bit says that the trace is sampled.
 */
export type TraceContext = Buffer;

const contextBytes = 25;
const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;

/**
 * Reads a `traceparent` header; null for one that is absent or malformed, which is then as if it were not there. A later
 * version may say more behind the flags, version 00 may not.
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

/** A context as a `traceparent` header. */
export function traceparentOf(context: TraceContext): string {
  const hex = context.toString("hex", 0, contextBytes);
  return `00-${hex.slice(0, 32)}-${hex.slice(32, 48)}-${hex.slice(48)}`;
}

/** The context that stands for an event which begins a trace of its own, on every node the same. */
export function contextOfEvent(eventId: string): TraceContext {
  return Buffer.from(`${eventId}${eventId.slice(16)}01`, "hex");
}
