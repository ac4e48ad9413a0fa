import { Type } from "typebox";
import type pg from "pg";
import { prometheusContentType } from "prom-client";
import { ApiError } from "./contract/errors.ts";
import { type RouteDefinition, route } from "./contract/route.ts";

export interface HealthDeps {
  pool: pg.Pool;
  /** Metrics in Prometheus' text format, of all threads. */
  metricsText: () => Promise<string>;
  version: string;
  /** Whether the process is shutting down and wants no new traffic. */
  isStopping: () => boolean;
}

/** What operators and load balancers ask: is it alive, does it serve, what does it count. */
export function healthRoutes(deps: HealthDeps): Record<"alive" | "ready" | "metrics", RouteDefinition> {
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
        summary: "Whether the service takes traffic: its database answers and it is not stopping",
        response: { 200: Type.Object({ status: Type.Literal("ready") }) },
      },
      async () => {
        if (deps.isStopping()) throw new ApiError(503, "stopping", { retryAfterSeconds: 5 });
        await deps.pool.query("select 1");
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
