import type { MetricValues } from "./metricsText.ts";
import type { Traces } from "./traces.ts";

/** The exports of a process by OpenTelemetry's protocol. */
export interface Telemetry {
  /** Undefined when nothing is traced. */
  traces: Traces | undefined;
  /** Exports what `read` gives every so often, where metrics are exported. */
  exportMetrics(read: () => Promise<MetricValues[]>): void;
  /** Sends what waits, for two seconds at most. Never rejects. */
  stop(): Promise<void>;
}
