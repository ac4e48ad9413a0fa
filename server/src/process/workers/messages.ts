import type { TokenRange } from "../../items/item.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import type { MetricValues } from "../../telemetry/metricsText.ts";

/** Data that workers and the spare need, in addition to their environment, to prepare for serving. */
export interface Preparation {
  connection: DatabaseConnection;
  /** In base64. */
  encryptionKey: string;
}

/** A worker's slot, the socket it listens on, and its roles. */
export interface Place {
  /** Number of the slot; replacements of the worker get the same one. */
  slot: number;
  /** The descriptor of the socket that the worker listens on. */
  fd: number;
  otherFds: number[];
  roles: string[];
}

export type ToWorker =
  | ({ say: "prepare" } & Preparation)
  | ({ say: "serve" } & Place)
  | { say: "stop" }
  /** Asks whether the worker's event loop still runs. */
  | { say: "ping" }
  /** Asks for the worker's own metrics. */
  | { say: "count"; id: number }
  /** Answers "count all" with the metrics of the other processes. */
  | { say: "counted all"; id: number; values: MetricValues[][] }
  /** Why the embedded database is away, if its log says so; null when it is back. */
  | { say: "trouble"; reason: string | null };

export type FromWorker =
  | { say: "serves"; port: number; isDashboardBuilt: boolean; leases: TokenRange }
  /** The worker stops although the supervisor did not ask for it. */
  | { say: "stopping" }
  /** The worker cannot start; a later one may. */
  | { say: "failed"; reason: string }
  /** Neither this worker nor its replacement can continue with this database. */
  | { say: "overtaken"; reason: string }
  | { say: "pong" }
  | { say: "counted"; id: number; values: MetricValues[] }
  /** The worker's final metrics, sent when it has stopped. */
  | { say: "counted last"; values: MetricValues[] }
  /** Asks for the metrics of the other processes; sends the worker's own, so that no count that `/metrics` shows dies with it. */
  | { say: "count all"; id: number; values: MetricValues[] };
