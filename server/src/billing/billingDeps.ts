import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Log } from "../telemetry/log.ts";

/** What the billing routes need. */
export interface BillingDeps {
  pool: pg.Pool;
  log: Log;
  config: Pick<Config, "billing" | "publicUrl" | "host" | "port">;
  nowMs: () => number;
  /** Told that a notice of the processor is stored and waits to be processed. */
  onBillingEvent: () => void;
}
