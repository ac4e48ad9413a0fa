import type { FastifyInstance } from "fastify";
import { type HealthDeps, healthRoutes } from "./http/health.ts";
import { addRoutes, createServer, type RouteRow, type ServerDeps } from "./http/server.ts";

export type AppDeps = ServerDeps & HealthDeps;

/** The whole HTTP interface, ready to listen. */
export function createApp(deps: AppDeps): FastifyInstance {
  const app = createServer(deps);
  addRoutes(app, deps, interfaceTable(deps));
  return app;
}

/** Every route with the credential it takes; `INTERFACE` rows in the order of the document. */
function interfaceTable(deps: AppDeps): RouteRow[] {
  const health = healthRoutes(deps);
  return [
    ["GET", "/healthz", "none", health.alive],
    ["GET", "/readyz", "none", health.ready],
    ["GET", "/metrics", "none", health.metrics],
  ];
}
