import { describe, expect, it } from "vitest";
import { loadConfig } from "../config/config.ts";
import { telemetryChoice } from "./telemetryChoice.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
const choose = (env: Record<string, string>) => telemetryChoice(loadConfig(env));

describe("the exported signals", () => {
  it.each([
    [{}, null, null],
    [{ OTEL_SERVICE_NAME: "postrider", OTEL_TRACES_SAMPLER: "always_on" }, null, null],
    [endpoint, "http/protobuf", "http/protobuf"],
    [{ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }, null, null],
    [{ ...endpoint, OTEL_METRICS_EXPORTER: "none" }, "http/protobuf", null],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: "none" }, null, "http/protobuf"],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, "http/protobuf", null],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c.example/v1/traces" }, "http/protobuf", null],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/json" }, "http/protobuf", "http/json"],
  ])("are chosen by %j", (env, traces, metrics) => {
    expect(choose(env)).toMatchObject({ traces, metrics, problems: [] });
  });

  it.each([
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /PROTOCOL can be http\/protobuf or http\/json/],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: "zipkin" }, /OTEL_TRACES_EXPORTER can be otlp or none/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, /endpoint for traces is no http or https URL/],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: "jaeger_remote" }, /OTEL_TRACES_SAMPLER can be one of/],
    [{ ...endpoint, OTEL_SDK_DISABLED: "yes" }, /OTEL_SDK_DISABLED can be true or false; using false/],
    [{ ...endpoint, OTEL_TRACES_SAMPLER_ARG: "two" }, /OTEL_TRACES_SAMPLER_ARG must be a number/],
    [{ ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: "0" }, /OTEL_METRIC_EXPORT_INTERVAL must be a whole number/],
  ])("are replaced by a default or skipped, with a warning, for the invalid setting %j", (env, problem) => {
    expect(choose(env).problems).toContainEqual(expect.stringMatching(problem));
  });
});
