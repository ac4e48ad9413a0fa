import type { FastifyInstance } from "fastify";
import type { Config } from "./config.ts";
import type { Queries } from "./db/tables.ts";
import { type HealthDeps, healthRoutes } from "./http/health.ts";
import { addRoutes, createServer, type RouteRow, type ServerDeps } from "./http/server.ts";
import type { Intake } from "./intake/intake.ts";
import { intakeRoutes } from "./intake/routes.ts";
import type { ParsedNetworks } from "./net/addressGuard.ts";
import type { Outbound } from "./net/outbound.ts";
import type { SecretBox } from "./targets/secretBox.ts";

/** What the interface is made of. Features take the parts they need; `service.ts` makes them all. */
export interface AppDeps extends ServerDeps, HealthDeps {
  config: Config;
  queries: Queries;
  box: SecretBox;
  outbound: Outbound;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  intake: Intake;
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells the local dispatcher that something became due. */
  onDue: () => void;
}

/** The whole HTTP interface, ready to listen. */
export function createApp(deps: AppDeps): FastifyInstance {
  const app = createServer(deps);
  addRoutes(app, deps, interfaceTable(deps));
  return app;
}

/** Every route with the credential it takes, in the order of the interface's document. */
function interfaceTable(deps: AppDeps): RouteRow[] {
  const health = healthRoutes(deps);
  const intake = intakeRoutes(deps);
  return [
    ["POST", "/t/:target_id", "item", intake.target],
    ["POST", "/e/:endpoint_id", "item", intake.endpoint],

    ["GET", "/healthz", "none", health.alive],
    ["GET", "/readyz", "none", health.ready],
    ["GET", "/metrics", "none", health.metrics],
  ];
}
