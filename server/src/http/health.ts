import { Type } from "typebox";
import { prometheusContentType } from "prom-client";
import { ApiError } from "./contract/errors.ts";
import { createReadiness, type ReadinessDeps } from "./readiness.ts";
import { type RouteDefinition, route } from "./contract/route.ts";

export interface HealthDeps extends ReadinessDeps {
  /** Metrics in Prometheus' text format, of all threads. */
  metricsText: () => Promise<string>;
  version: string;
  /** Whether the process is shutting down and wants no new traffic. */
  isStopping: () => boolean;
}

/** What operators and load balancers ask: is it alive, does it serve, what does it count. */
export function healthRoutes(deps: HealthDeps): Record<"alive" | "ready" | "metrics", RouteDefinition> {
  const whyNotReady = createReadiness(deps);
  return {
    alive: route(
      {
        summary: "Whether the process runs",
        response: { 200: Type.Object({ status: Type.Literal("ok"), version: Type.String() }) },
      },
      () => ({ status: "ok", version: deps.version }),
    ),
    ready: route(
      {
        summary: "Whether an item would be accepted now; the message of a 503 says why not",
        response: { 200: Type.Object({ status: Type.Literal("ready") }) },
      },
      async () => {
        if (deps.isStopping()) throw new ApiError(503, "stopping", { retryAfterSeconds: 5 });
        const reason = await whyNotReady();
        if (reason !== undefined) throw new ApiError(503, reason, { retryAfterSeconds: 2 });
        return { status: "ready" };
      },
    ),
    metrics: route(
      { summary: "Metrics in Prometheus' text format", response: { 200: Type.String() } },
      async ({ reply }) => {
        const text = await deps.metricsText();
        return reply.type(prometheusContentType).serializer(String).send(text);
      },
    ),
  };
}
