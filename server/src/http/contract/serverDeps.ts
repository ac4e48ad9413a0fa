import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RequestMetrics } from "../../telemetry/requestMetrics.ts";
import type { KeyOwners } from "./keyOwners.ts";
import type { Reach } from "./scope.ts";

/** Parts of the service that the server itself needs, whatever the route. */
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
