import { createServer } from "node:http";
import { until } from "./until.ts";

/** A received span, with its attributes by name. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, string | number | boolean>;
  /** 2 for an error. */
  status: number;
  service: string;
}

export interface CollectedMetric {
  name: string;
  /** The data points under their kind: `sum`, `gauge` or `histogram`. */
  [kind: string]: unknown;
}

/** A collector that speaks OTLP/HTTP in JSON and keeps the data in memory. */
export interface Collector {
  /** Settings of a service that exports to this collector at short intervals. */
  env: Record<string, string>;
  spans: CollectedSpan[];
  metrics: CollectedMetric[];
  /** The `service.instance.id` of each sender of metrics; undefined for a sender without one. */
  instances: Set<unknown>;
  /** Number of requests so far. */
  requests(): number;
  /** Everything that arrived, as text. */
  text(): string;
  /** Resolves to the spans for which `isWanted` is true, once there are `count` of them. */
  arrivals(count: number, isWanted: (span: CollectedSpan) => boolean): Promise<CollectedSpan[]>;
  stop(): Promise<void>;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
}

const arrivalLimitMs = 60_000;

/** Behaviour of a collector: it accepts, never answers, or answers 503. */
export type CollectorMood = "well" | "hanging" | "unavailable";

export async function startCollector(mood: CollectorMood = "well"): Promise<Collector> {
  let requests = 0;
  const texts: string[] = [];
  const spans: CollectedSpan[] = [];
  const metrics: CollectedMetric[] = [];
  const instances = new Set<unknown>();
  const server = createServer((request, response) => {
    requests++;
    if (mood !== "well") {
      request.resume();
      if (mood === "unavailable") response.writeHead(503, { "retry-after": "60" }).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      texts.push(text);
      const body = JSON.parse(text);
      for (const resource of body.resourceSpans ?? []) {
        const service = attributesOf(resource.resource.attributes)["service.name"] as string;
        for (const scope of resource.scopeSpans) {
          for (const span of scope.spans) spans.push(readSpan(span, service));
        }
      }
      for (const resource of body.resourceMetrics ?? []) {
        instances.add(attributesOf(resource.resource.attributes)["service.instance.id"]);
        for (const scope of resource.scopeMetrics) metrics.push(...scope.metrics);
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_METRIC_EXPORT_INTERVAL: "500",
    },
    spans,
    metrics,
    instances,
    requests: () => requests,
    text: () => texts.join("\n"),
    arrivals: (count, isWanted) =>
      until(
        async () => spans.filter(isWanted),
        (found) => found.length >= count,
        arrivalLimitMs,
      ),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- JSON as received
function readSpan(span: any, service: string): CollectedSpan {
  const { traceId, spanId, parentSpanId = "", name, kind, links = [], attributes, status } = span;
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    links,
    attributes: attributesOf(attributes),
    status: status?.code ?? 0,
    service,
  };
}

function attributesOf(attributes: readonly Attribute[]): CollectedSpan["attributes"] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
}
