import type { TraceContext } from "./traceContext.ts";
import type { MetricValues } from "./metricsText.ts";

export type SpanAttributes = Record<string, string | number | boolean>;

/** A running span of a sampled trace. */
export interface Span {
  /** The context for the spans that follow from this one. */
  readonly context: TraceContext;
  /** The context as a header. */
  readonly traceparent: string;
  /** Ends the span; further calls have no effect. */
  end(outcome: SpanEnd): void;
}

export interface SpanEnd {
  attributes: SpanAttributes;
  /** A short error code, `error.type` of the semantic conventions; absent if there was no error. */
  error?: string | undefined;
  /** Unix milliseconds; default now. */
  atMs?: number;
}

export interface SpanStart {
  name: string;
  kind: "server" | "client" | "consumer" | "internal";
  /** The parent's context; null begins a new trace. */
  parent: TraceContext | null;
  /** Contexts of related spans that are not parents. */
  links?: readonly TraceContext[];
  attributes: SpanAttributes;
  /** Unix milliseconds; default now. */
  startMs?: number;
}

/** Records spans. Callers hold an instance or undefined; without tracing, the only cost is the check for undefined. */
export interface Traces {
  /** Starts a span; null if its trace is not sampled, so that nothing is recorded. */
  start(span: SpanStart): Span | null;
}

/** The attributes that every span of an item has. */
export const messaging = { "messaging.system": "postrider" } as const;

/** The exports of a process over OTLP, OpenTelemetry's protocol. */
export interface Telemetry {
  /** Undefined if spans are not exported. */
  traces: Traces | undefined;
  /** Exports the values of `read` at the configured interval, if metrics are exported. */
  exportMetrics(read: () => Promise<MetricValues[]>): void;
  /** Sends queued spans and metrics, for at most two seconds. Never rejects. */
  stop(): Promise<void>;
}
