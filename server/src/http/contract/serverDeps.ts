import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RequestMetrics } from "../../telemetry/requestMetrics.ts";
import type { Reach, Scope } from "./scope.ts";

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

/** The owner and limit of an API key, which never change; absent for an unknown key. */
export interface KeyOwner {
  orgId: string;
  scope: Scope | undefined;
}

/**
 * Whose API keys are, for sharing what this process has among organizations, and what each is limited to. Whether a key is
 * still valid is checked in the transaction that does what it is for.
 */
export interface KeyOwners {
  /** The owner of a key that was valid a minute or two ago at most; undefined for one that has to be looked up. */
  known(key: string): KeyOwner | undefined;
  /**
   * The owner of a key by the database as it is now; undefined for one that is unknown or revoked.
   * @throws {QueueFullError} when too many wait, or the database's error.
   */
  find(key: string): Promise<KeyOwner | undefined>;
}
