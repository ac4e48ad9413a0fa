import type { ChangeCounts } from "../../items/changes.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import type { SendingConfig } from "../dispatch/sendingConfig.ts";
import type { TelemetryChoice } from "../../telemetry/telemetryChoice.ts";
import type { MetricValues } from "../../telemetry/metricsText.ts";

/** What the helping thread is started with. All of it can be copied from thread to thread. */
export interface ThreadInput {
  connection: DatabaseConnection;
  encryptionKey: Uint8Array;
  previousEncryptionKeys: readonly Uint8Array[];
  config: SendingConfig;
  /** What it exports itself: no metrics, which the main thread adds to its own. Nothing when absent. */
  telemetry?: TelemetryChoice;
  /** 1 while somebody watches changes. */
  watchedFlag: Int32Array<SharedArrayBuffer>;
}

/** What the main thread says to the helping one. */
export type ToThread =
  /** Send to the target, with so many requests under way, until it has nothing more or takes nothing. */
  | { say: "borrow"; targetId: string; requests: number }
  | { say: "metrics" }
  /** Finish what is under way, give the rest back and end. */
  | { say: "stop" };

/** What the helping thread says to the main one. */
export type FromThread =
  /** It sends to the target no more. */
  | { say: "ended"; targetId: string }
  | { say: "metrics"; values: MetricValues[] }
  /** What became of attempts since the last time, by the target's id. */
  | { say: "counts"; counts: Map<string, ChangeCounts> }
  /** Whole lines of the log. */
  | { say: "lines"; text: string };
