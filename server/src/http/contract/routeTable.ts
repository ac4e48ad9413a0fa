import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RequestMetrics } from "../../telemetry/requestMetrics.ts";
import type { KeyOwners } from "./keyOwners.ts";
import type { Role } from "./roles.ts";
import type { Reach, ScopeRule } from "./scope.ts";
import type { Credential, RouteDefinition } from "./route.ts";

/**
 * One row of the interface: method, path, the credential it takes, and the route; and the least role of a session where it
 * is another than the method says, see `leastRole`. Credentials that are limited are refused unless its rule takes them.
 */
export type RouteRow = readonly [
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  credential: Credential,
  route: RouteDefinition,
  leastRole?: Role | undefined,
  scopes?: ScopeRule | undefined,
];

/** What answering any route takes. */
export interface ServerDeps {
  pool: pg.Pool;
  log: Log;
  metrics: RequestMetrics;
  onKeyUsed: (keyId: string) => void;
  keyOwners: KeyOwners;
  reach: Reach;
  config: Pick<Config, "bodyMemoryBytes" | "fastHttp" | "maxBodyBytes" | "trustProxy" | "publicUrl">;
  /** The most connections of clients. */
  maxConnections: number;
}
