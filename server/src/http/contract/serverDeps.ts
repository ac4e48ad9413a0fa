import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RequestMetrics } from "../../telemetry/requestMetrics.ts";
import type { Reach, Scope } from "./scope.ts";

/** The parts of the process that the server itself needs, for all routes. */
export interface ServerDeps {
  pool: pg.Pool;
  log: Log;
  metrics: RequestMetrics;
  onKeyUsed: (key: string) => void;
  keyOwners: KeyOwners;
  reach: Reach;
  config: Pick<Config, "bodyMemoryBytes" | "fastHttp" | "maxBodyBytes" | "trustProxy" | "publicUrl">;
  /** The most connections of clients. */
  maxConnections: number;
}

/** The organization and the scope of an API key, which never change. */
export interface KeyOwner {
  orgId: string;
  scope: Scope | undefined;
}

/**
 * Looks up the organization and the scope of an API key, so that this process can divide its capacity fairly among organizations.
 * The request's own transaction checks that the key is still valid.
 */
export interface KeyOwners {
  /** The cached owner of a key that was valid at most two minutes ago; undefined when `find` has to look it up. */
  known(key: string): KeyOwner | undefined;
  /**
   * The owner of a key, read from the database now; undefined for an unknown or revoked key.
   * @throws {QueueFullError} when too many lookups wait, or the database's error.
   */
  find(key: string): Promise<KeyOwner | undefined>;
}
