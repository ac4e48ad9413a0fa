import type { TokenRange } from "../../items/item.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import type { MetricValues } from "../../telemetry/metricsText.ts";

/** Data that a worker and the spare need, in addition to their environment, to be ready to serve. */
export interface Preparation {
  connection: DatabaseConnection;
  /** In base64. */
  encryptionKey: string;
}

/** The place that a worker serves in. */
export interface Place {
  /** The number of its slot, which its successors inherit. */
  slot: number;
  /** The descriptor that it listens on. */
  fd: number;
  otherFds: number[];
  roles: string[];
}

export type ToWorker =
  | ({ say: "prepare" } & Preparation)
  | ({ say: "serve" } & Place)
  | { say: "stop" }
  /** Asks for the worker's own metrics. */
  | { say: "count"; id: number }
  /** Answers "count all" with the metrics of the others. */
  | { say: "counted all"; id: number; values: MetricValues[][] }
  /** Why the embedded database is away, where its log says so; null once that has passed. */
  | { say: "trouble"; reason: string | null };

export type FromWorker =
  | { say: "serves"; port: number; isDashboardBuilt: boolean; leases: TokenRange }
  /** It stops although the supervisor did not ask for it. */
  | { say: "stopping" }
  /** It cannot start; a later one may. */
  | { say: "failed"; reason: string }
  /** Neither it nor another one can go on with this database. */
  | { say: "overtaken"; reason: string }
  | { say: "counted"; id: number; values: MetricValues[] }
  /** Its last metrics, when it has stopped. */
  | { say: "counted last"; values: MetricValues[] }
  /** Asks for the metrics of the others and tells its own, so that no count that `/metrics` has shown is lost with the worker. */
  | { say: "count all"; id: number; values: MetricValues[] };
