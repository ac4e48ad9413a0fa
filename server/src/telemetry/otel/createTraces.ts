import {
  type Context,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { type TraceContext, traceparentOf } from "../traceContext.ts";
import type { Span, Traces } from "../traces.ts";

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Implements {@link Traces} with a tracer of OpenTelemetry's SDK, which decides on sampling. */
export function createTraces(tracer: Tracer): Traces {
  return {
    start({ name, kind, parent, links = [], attributes, startMs }) {
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes,
          links: links.map((link) => ({ context: spanContextOf(link) })),
          ...(startMs !== undefined && { startTime: startMs }),
        },
        parent === null ? ROOT_CONTEXT : under(parent),
      );
      return (span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0 ? null : wrap(span);
    },
  };
}

function wrap(span: SdkSpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const context = Buffer.from(`${traceId}${spanId}${traceFlags.toString(16).padStart(2, "0")}`, "hex");
  return {
    context,
    traceparent: traceparentOf(context),
    end({ attributes, error, atMs }) {
      span.setAttributes(attributes);
      if (error !== undefined)
        span.setAttribute("error.type", error).setStatus({ code: SpanStatusCode.ERROR });
      span.end(atMs);
    },
  };
}

function under(parent: TraceContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent));
}

function spanContextOf(context: TraceContext): SpanContext {
  return {
    traceId: context.toString("hex", 0, 16),
    spanId: context.toString("hex", 16, 24),
    traceFlags: context[24]!,
    isRemote: true,
  };
}
