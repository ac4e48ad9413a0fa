import type { Log } from "../log.ts";
import type { Telemetry } from "../traces.ts";
import type { TelemetryChoice } from "../telemetryChoice.ts";

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
  const { startSdk } = await import("./startSdk.ts");
  return startSdk(choice, log);
}
