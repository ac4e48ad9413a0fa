import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RequestMetrics } from "../../telemetry/requestMetrics.ts";
import type { KeyOwners } from "./keyOwners.ts";
import type { Credential, RouteDefinition } from "./route.ts";

/** One row of the interface: method, path, the credential it takes, and the route. */
export type RouteRow = readonly [
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  credential: Credential,
  route: RouteDefinition,
];

/** What answering any route takes. */
export interface ServerDeps {
  pool: pg.Pool;
  log: Log;
  metrics: RequestMetrics;
  onKeyUsed: (keyId: string) => void;
  keyOwners: KeyOwners;
  config: Pick<Config, "bodyMemoryBytes" | "fastHttp" | "maxBodyBytes" | "trustProxy" | "publicUrl">;
  /** The most connections of clients. */
  maxConnections: number;
}
