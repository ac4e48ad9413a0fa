import type { TraceContext } from "./traceContext.ts";
import type { MetricValues } from "./metricsText.ts";

export type SpanAttributes = Record<string, string | number | boolean>;

/** A span of a sampled trace that is under way. */
export interface Span {
  /** Where what follows from it goes on. */
  readonly context: TraceContext;
  /** The same as a header. */
  readonly traceparent: string;
  /** Ends it, once; nothing said later counts. */
  end(outcome: SpanEnd): void;
}

export interface SpanEnd {
  attributes: SpanAttributes;
  /** A short word for what went wrong, `error.type` of the conventions; absent when nothing did. */
  error?: string | undefined;
  /** Unix milliseconds; now unless told. */
  atMs?: number;
}

export interface SpanStart {
  name: string;
  kind: "server" | "client" | "consumer" | "internal";
  /** Where its trace goes on; null begins one. */
  parent: TraceContext | null;
  /** Related things that are not parts of it. */
  links?: readonly TraceContext[];
  attributes: SpanAttributes;
  /** Unix milliseconds; now unless told. */
  startMs?: number;
}

/**
 * Records spans. Callers hold an instance or undefined; without tracing, a check for undefined is the whole cost.
 */
export interface Traces {
  /** Starts a span; null when its trace is not sampled, so that nothing is recorded. */
  start(span: SpanStart): Span | null;
}

/** The attributes of every span of an item. */
export const messaging = { "messaging.system": "postrider" } as const;

/** The exports of a process by OpenTelemetry's protocol. */
export interface Telemetry {
  /** Undefined when nothing is traced. */
  traces: Traces | undefined;
  /** Exports the values of `read` at the configured interval, if metrics are exported. */
  exportMetrics(read: () => Promise<MetricValues[]>): void;
  /** Sends queued spans and metrics, for at most two seconds. Never rejects. */
  stop(): Promise<void>;
}
