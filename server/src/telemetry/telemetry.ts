import type { Log } from "./log.ts";
import type { MetricValues } from "./metricsText.ts";
import type { TelemetryChoice } from "./telemetryChoice.ts";
import type { Traces } from "./traces.ts";

/** What a process exports by OpenTelemetry's protocol. */
export interface Telemetry {
  /** Undefined when nothing is traced. */
  traces: Traces | undefined;
  /** Exports what `read` gives every so often, where metrics are exported. */
  exportMetrics(read: () => Promise<MetricValues[]>): void;
  /** Sends what waits, for two seconds at most. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts the export that is asked for; undefined when none is. OpenTelemetry's packages are loaded here and not before, so
 * that a process that exports nothing has nothing of them in memory.
 */
export async function startTelemetry(
  choice: TelemetryChoice,
  log: Pick<Log, "warn">,
): Promise<Telemetry | undefined> {
  for (const problem of choice.problems) log.warn({}, problem);
  if (choice.traces === null && choice.metrics === null) return undefined;
  const { startSdk } = await import("./otel/startSdk.ts");
  return startSdk(choice, log);
}
