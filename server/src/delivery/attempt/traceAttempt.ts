import { type Delivery, traceOf } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { TraceContext } from "../../telemetry/traceContext.ts";
import { messaging, type Span, type Traces } from "../../telemetry/traces.ts";

/**
 * Begins the span of an attempt; the receiver gets the span's context. The span records only the server of the URL, because
 * paths and queries contain secrets of receivers.
 */
export function startAttempt(
  traces: Traces,
  delivery: Delivery,
  context: TraceContext,
  target: TargetConfig,
): Span | null {
  const url = URL.parse(target.url);
  return traces.start({
    name: "POST",
    kind: "client",
    ...traceOf(delivery, context),
    attributes: {
      ...messaging,
      "messaging.operation.type": "send",
      "messaging.message.id": delivery.eventId,
      "messaging.destination.name": delivery.targetId,
      "http.request.method": "POST",
      "http.request.resend_count": delivery.attempts,
      ...(url !== null && {
        "url.scheme": url.protocol.slice(0, -1),
        "server.address": url.hostname,
        "server.port": url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
      }),
    },
  });
}

interface EndedAttempt {
  statusCode: number;
  /** Unix milliseconds. */
  attemptedAtMs: number;
  durationMs: number;
}

/** Ends the span of an attempt after it was recorded. The span's end is the time of the receiver's answer. */
export function endAttempt(
  span: Span,
  outcome: "delivered" | "retry" | "failed" | "stale" | "lost",
  { statusCode, attemptedAtMs, durationMs }: EndedAttempt,
): void {
  span.end({
    attributes: {
      "postrider.outcome": outcome,
      ...(statusCode > 0 && { "http.response.status_code": statusCode }),
    },
    error: outcome === "delivered" ? undefined : statusCode > 0 ? String(statusCode) : "no_answer",
    atMs: attemptedAtMs + durationMs,
  });
}
