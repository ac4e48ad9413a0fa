import { anyText, type Setting } from "./parsers.ts";

/**
 * OpenTelemetry's standard variables. Its packages read `OTEL_RESOURCE_ATTRIBUTES` and the variables for sending
 * themselves.
 */
export const telemetrySettings = {
  otelEndpoint: text({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    unset: "nothing is exported",
    description:
      "The OTLP/HTTP address of a collector, such as `http://localhost:4318`: traces go to `/v1/traces` under it, metrics to `/v1/metrics`. Setting it turns both on. Other variables for sending (`OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT`, `_COMPRESSION`, `_CERTIFICATE`, each also with `_TRACES_` or `_METRICS_`) are read as OpenTelemetry specifies them. See `docs/tracing.md`.",
  }),
  otelTracesEndpoint: text({
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    unset: "from OTEL_EXPORTER_OTLP_ENDPOINT",
    description: "The whole address for traces alone.",
  }),
  otelMetricsEndpoint: text({
    name: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    unset: "from OTEL_EXPORTER_OTLP_ENDPOINT",
    description: "The whole address for metrics alone.",
  }),
  otelProtocol: text({
    name: "OTEL_EXPORTER_OTLP_PROTOCOL",
    unset: "http/protobuf",
    description: "`http/protobuf` or `http/json`. With `grpc` nothing is exported, and the log says so.",
  }),
  otelTracesProtocol: text({
    name: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    unset: "OTEL_EXPORTER_OTLP_PROTOCOL",
    description: "The same for traces alone.",
  }),
  otelMetricsProtocol: text({
    name: "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
    unset: "OTEL_EXPORTER_OTLP_PROTOCOL",
    description: "The same for metrics alone.",
  }),
  otelTracesExporter: text({
    name: "OTEL_TRACES_EXPORTER",
    unset: "otlp where there is an endpoint",
    description: "`none` exports no traces; `otlp` without an endpoint exports to `http://localhost:4318`.",
  }),
  otelMetricsExporter: text({
    name: "OTEL_METRICS_EXPORTER",
    unset: "otlp where there is an endpoint",
    description: "The same for metrics.",
  }),
  otelTracesSampler: text({
    name: "OTEL_TRACES_SAMPLER",
    unset: "parentbased_always_on",
    description:
      "Which items are traced: `always_on`, `always_off`, `traceidratio`, or each with the prefix `parentbased_`, with which the client's `traceparent` decides if there is one.",
  }),
  otelTracesSamplerArg: text({
    name: "OTEL_TRACES_SAMPLER_ARG",
    unset: "1",
    description: "The part of traces that the samplers with a ratio take, from 0 to 1.",
  }),
  otelServiceName: text({
    name: "OTEL_SERVICE_NAME",
    unset: "postrider",
    description: "`service.name` of all exported data.",
  }),
  otelSdkDisabled: text({
    name: "OTEL_SDK_DISABLED",
    unset: "false",
    description: "`true` turns off the export of traces and metrics.",
  }),
  otelMaxQueue: text({
    name: "OTEL_BSP_MAX_QUEUE_SIZE",
    unset: "2048",
    description: "How many spans may wait to be sent; further ones are dropped.",
  }),
  otelMaxBatch: text({
    name: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    unset: "512",
    description: "The most spans in one request to the collector.",
  }),
  otelBatchDelay: text({
    name: "OTEL_BSP_SCHEDULE_DELAY",
    unset: "5000",
    description: "Maximum time that a span waits for its batch, in milliseconds.",
  }),
  otelMetricsInterval: text({
    name: "OTEL_METRIC_EXPORT_INTERVAL",
    unset: "60000",
    description: "How often metrics are sent, in milliseconds.",
  }),
};

function text(setting: Omit<Setting<string>, "parse"> & { unset: string }) {
  return { ...setting, parse: anyText };
}
