import type { Config } from "../config/config.ts";

/** The OpenTelemetry settings from the environment. */
export type TelemetryConfig = Pick<Config, Extract<keyof Config, `otel${string}`>>;

/** The settings of exports, in a form that can be copied between threads. */
export interface TelemetryChoice {
  /** Protocol of spans; null if spans are not exported. */
  traces: Protocol | null;
  /** Protocol of metrics; null if metrics are not exported. */
  metrics: Protocol | null;
  sampler: string;
  samplerArgument: number;
  serviceName: string | null;
  /** Distinguishes a process from others of the same service that export to the same collector; null if it is the only one. */
  instance: string | null;
  /** The batch of spans: maximum waiting, maximum per request, and the delay in milliseconds. */
  maxQueue: number;
  maxBatch: number;
  batchDelayMs: number;
  metricsIntervalMs: number;
  /** A sentence for each setting that was ignored. */
  problems: readonly string[];
}

export type Protocol = "http/protobuf" | "http/json";

const samplers = new Set(
  ["always_on", "always_off", "traceidratio"].flatMap((name) => [name, `parentbased_${name}`]),
);
const defaultSampler = "parentbased_always_on";

/**
 * Reads the standard OpenTelemetry variables as specified: an invalid value is ignored with a warning and never prevents the
 * start of the service, because these variables are often set for all programs of a machine.
 */
export function telemetryChoice(config: TelemetryConfig): TelemetryChoice {
  const problems: string[] = [];
  const isOff = isDisabled(config.otelSdkDisabled, problems);
  const choose = (signal: "TRACES" | "METRICS", given: Given): Protocol | null =>
    isOff ? null : protocolOf(signal, given, problems);
  const number = (name: string, text: string | undefined, fallback: number): number =>
    text === undefined ? fallback : numberIn(name, text, fallback, problems);
  return {
    traces: choose("TRACES", {
      endpoint: config.otelTracesEndpoint ?? config.otelEndpoint,
      exporter: config.otelTracesExporter,
      protocol: config.otelTracesProtocol ?? config.otelProtocol,
    }),
    metrics: choose("METRICS", {
      endpoint: config.otelMetricsEndpoint ?? config.otelEndpoint,
      exporter: config.otelMetricsExporter,
      protocol: config.otelMetricsProtocol ?? config.otelProtocol,
    }),
    sampler: samplerOf(config.otelTracesSampler, problems),
    samplerArgument: ratioOf(config.otelTracesSamplerArg, problems),
    serviceName: config.otelServiceName ?? null,
    instance: null,
    maxQueue: number("OTEL_BSP_MAX_QUEUE_SIZE", config.otelMaxQueue, 2048),
    maxBatch: number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", config.otelMaxBatch, 512),
    batchDelayMs: number("OTEL_BSP_SCHEDULE_DELAY", config.otelBatchDelay, 5_000),
    metricsIntervalMs: number("OTEL_METRIC_EXPORT_INTERVAL", config.otelMetricsInterval, 60_000),
    problems: isOff ? [] : problems,
  };
}

function isDisabled(text: string | undefined, problems: string[]): boolean {
  const value = text?.toLowerCase() ?? "false";
  if (value !== "true" && value !== "false") {
    problems.push("OTEL_SDK_DISABLED can be true or false; using false");
  }
  return value === "true";
}

type Given = Record<"endpoint" | "exporter" | "protocol", string | undefined>;

/** The protocol of a signal; null if it is not exported, which is the default unless an endpoint or an exporter is set. */
function protocolOf(signal: string, given: Given, problems: string[]): Protocol | null {
  const { endpoint, exporter, protocol = "http/protobuf" } = given;
  if (exporter === "none" || (endpoint === undefined && exporter === undefined)) return null;
  if (exporter !== undefined && exporter !== "otlp") {
    problems.push(`OTEL_${signal}_EXPORTER can be otlp or none here; nothing is exported`);
    return null;
  }
  if (protocol !== "http/protobuf" && protocol !== "http/json") {
    problems.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL can be http/protobuf or http/json here (a collector's port 4318); OTEL_${signal}_EXPORTER is treated as none`,
    );
    return null;
  }
  if (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    problems.push(
      `the OTLP endpoint for ${signal.toLowerCase()} is no http or https URL; nothing is exported`,
    );
    return null;
  }
  return protocol;
}

function samplerOf(text: string | undefined, problems: string[]): string {
  if (text === undefined || samplers.has(text)) return text ?? defaultSampler;
  problems.push(`OTEL_TRACES_SAMPLER can be one of ${[...samplers].join(", ")}; using ${defaultSampler}`);
  return defaultSampler;
}

function ratioOf(text: string | undefined, problems: string[]): number {
  const ratio = text === undefined ? 1 : Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  problems.push("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; using 1");
  return 1;
}

/** The longest delay that a timer accepts. */
const maxNumber = 2 ** 31 - 1;

function numberIn(name: string, text: string, fallback: number, problems: string[]): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= maxNumber) return value;
  problems.push(`${name} must be a whole number above 0; using ${fallback}`);
  return fallback;
}
