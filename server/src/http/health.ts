import { hash, timingSafeEqual } from "node:crypto";
import { Type } from "typebox";
import { prometheusContentType } from "prom-client";
import { anyone } from "./contract/access.ts";
import { ApiError, unauthorized } from "./contract/errors.ts";
import { singleFlight } from "../runtime/within.ts";
import { createReadiness, type ReadinessDeps } from "./readiness.ts";
import { routesOf, type RouteRecord } from "./contract/route.ts";

const route = routesOf<HealthParts>("Operation");

export interface HealthDeps extends ReadinessDeps {
  /** The metrics of all threads, in Prometheus' text format. */
  metricsText: () => Promise<string>;
  version: string;
  /** True while the process shuts down and should get no new traffic. */
  isStopping: () => boolean;
  /** The token that `/metrics` requires in `Authorization: Bearer`; undefined if `/metrics` needs no credential. */
  metricsToken: string | undefined;
}

interface HealthParts extends HealthDeps {
  readiness: ReturnType<typeof createReadiness>;
  /** Gathers the metrics' bytes, once for all concurrent requests. */
  gather: () => Promise<Buffer>;
}

/** Liveness, readiness and metrics, for operators and load balancers. */
export function healthRoutes(deps: HealthDeps): RouteRecord[] {
  const gather = singleFlight(async () => Buffer.from(await deps.metricsText()));
  const own = { ...deps, readiness: createReadiness(deps), gather };
  return [aliveRoute(own), readyRoute(own), metricsRoute(own)];
}

const aliveRoute = route("isAlive", "GET /healthz", {
  access: anyone,
  summary: "Check whether the process runs",
  response: { 200: Type.Object({ status: Type.Literal("ok"), version: Type.String() }) },
  handle: (_call, deps) => ({ status: "ok", version: deps.version }),
});

const readyRoute = route("isReady", "GET /readyz", {
  access: anyone,
  summary:
    "Check whether the service would accept an item now; the message of a 503 says why not, and `warnings` lists other problems",
  response: {
    200: Type.Object({
      status: Type.Literal("ready"),
      warnings: Type.Optional(Type.Array(Type.String())),
    }),
  },
  async handle(_call, deps) {
    if (deps.isStopping()) throw new ApiError(503, "stopping", { retryAfterSeconds: 5 });
    const { refusal, warnings } = await deps.readiness();
    if (refusal !== undefined) throw new ApiError(503, refusal, { retryAfterSeconds: 2 });
    const all = [deps.clock.warning(), ...warnings].filter((one) => one !== undefined);
    return { status: "ready", ...(all.length > 0 && { warnings: all }) };
  },
});

const metricsRoute = route("readMetrics", "GET /metrics", {
  access: anyone,
  summary: "Read metrics in Prometheus' text format",
  response: { 200: Type.String() },
  errors: {
    401: "POSTRIDER_METRICS_TOKEN is set, and the request does not carry this token in `Authorization: Bearer`",
  },
  async handle({ request, reply }, deps) {
    if (deps.metricsToken !== undefined && !isBearer(request.headers.authorization, deps.metricsToken)) {
      throw unauthorized();
    }
    return reply.type(prometheusContentType).send(await deps.gather());
  },
});

/** Whether the header has the token. Compares digests, so that the time reveals neither the token nor its length. */
function isBearer(header: string | undefined, token: string): boolean {
  const given = /^bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", token, "buffer"));
}
