import { randomUUID } from "node:crypto";
import { diag, DiagLogLevel } from "@opentelemetry/api";
import { OTLPMetricExporter as JsonMetrics } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufMetrics } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraces } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufTraces } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  type Resource,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { version } from "../../config/version.ts";
import { within } from "../../runtime/within.ts";
import type { Log } from "../log.ts";
import type { Telemetry } from "../traces.ts";
import type { TelemetryChoice } from "../telemetryChoice.ts";
import { createTraces } from "./createTraces.ts";
import { toOtlp } from "./toOtlp.ts";

const stopLimitMs = 2_000;
/** An unreachable collector is logged once in this time, not with each batch. */
const saidEveryMs = 10 * 60_000;

/**
 * Starts OpenTelemetry's SDK for the configured signals. Data that cannot be sent is dropped, so that nothing waits for a
 * collector.
 */
export function startSdk(choice: TelemetryChoice, log: Pick<Log, "warn">): Telemetry {
  diag.setLogger(quietLogger(log), { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const resource = resourceOf(choice);
  const tracer = choice.traces === null ? undefined : startTracer(choice, resource);
  let meter: MeterProvider | undefined;
  return {
    traces: tracer && createTraces(tracer.getTracer("postrider", version)),
    exportMetrics(read) {
      if (choice.metrics === null || meter !== undefined) return;
      const startedMs = Date.now();
      meter = new MeterProvider({
        resource,
        readers: [
          new PeriodicExportingMetricReader({
            exporter: choice.metrics === "http/json" ? new JsonMetrics() : new ProtobufMetrics(),
            exportIntervalMillis: choice.metricsIntervalMs,
            exportTimeoutMillis: Math.min(choice.metricsIntervalMs, 30_000),
            metricProducers: [
              {
                collect: async () => ({
                  resourceMetrics: {
                    resource,
                    scopeMetrics: [
                      { scope: { name: "postrider", version }, metrics: toOtlp(await read(), startedMs) },
                    ],
                  },
                  errors: [],
                }),
              },
            ],
          }),
        ],
      });
    },
    async stop() {
      await within(stopLimitMs, Promise.allSettled([tracer?.shutdown(), meter?.shutdown()]), undefined);
    },
  };
}

/** `OTEL_RESOURCE_ATTRIBUTES` may add attributes, and `OTEL_SERVICE_NAME` overrides the service's name. */
function resourceOf({ serviceName, instance }: TelemetryChoice): Resource {
  const own = resourceFromAttributes({ "service.name": "postrider", "service.version": version });
  const named = resourceFromAttributes(serviceName === null ? {} : { "service.name": serviceName });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
    .merge(named);
  if (instance === null) return resource;
  // Without it, a collector would mix the metrics of several processes into one series whose values jump up and down.
  const given = resource.attributes[instanceId];
  const service = typeof given === "string" ? given : randomUUID();
  return resource.merge(resourceFromAttributes({ [instanceId]: `${service}-${instance}` }));
}

const instanceId = "service.instance.id";

function startTracer(choice: TelemetryChoice, resource: Resource): TracerProvider {
  return new TracerProvider({
    resource,
    sampler: samplerOf(choice),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: choice.traces === "http/json" ? new JsonTraces() : new ProtobufTraces(),
        maxQueueSize: choice.maxQueue,
        maxExportBatchSize: choice.maxBatch,
        scheduledDelayMillis: choice.batchDelayMs,
      }),
    ],
  });
}

function samplerOf({ sampler, samplerArgument }: TelemetryChoice): Sampler {
  const root = rootSampler(sampler.replace("parentbased_", ""), samplerArgument);
  return sampler.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === "always_off") return new AlwaysOffSampler();
  return name === "traceidratio" ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

/** Logs only the code of a failure, because the SDK's messages may quote settings such as headers with a token. */
function quietLogger(log: Pick<Log, "warn">) {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  const say = (message: string): void => {
    const nowMs = performance.now();
    if (nowMs - saidAtMs < saidEveryMs) return;
    saidAtMs = nowMs;
    const code = /\b(E[A-Z]{4,}|HTTP \d{3}|\b[45]\d\d\b)/.exec(message)?.[0] ?? null;
    log.warn({ code }, "telemetry cannot be exported and is dropped; logged at most every ten minutes");
  };
  const silent = (): void => undefined;
  return { error: say, warn: silent, info: silent, debug: silent, verbose: silent };
}
