import type { Config } from "../config/config.ts";
import type { Log } from "../telemetry/log.ts";
import { type OpenDatabase, openDatabase, type Opening } from "./database/openDatabase.ts";
import { tellProgress } from "./database/startProgress.ts";
import type { StopRequest } from "./stopRequest.ts";

/** Time limit for a start to end after a stop request. No data can be lost, and a guard stops the embedded PostgreSQL. */
const startStopLimitMs = 5_000;

/**
 * Opens the database; returns undefined if the process was asked to stop first. The process then ends within seconds, even if the
 * start hangs.
 */
export async function openUnlessStopped(
  config: Config,
  log: Log,
  { say, stop, whileWaiting }: Pick<Opening, "say" | "whileWaiting"> & { stop: StopRequest },
): Promise<OpenDatabase | undefined> {
  const progress = tellProgress(say);
  const opening = openDatabase(config, log, { say, progress, signal: stop.signal, whileWaiting });
  let isOpen = false;
  const stopped = stop.asked.then((signal) => {
    if (isOpen) return undefined;
    say(`Stopped by ${signal} before it served`);
    // oxlint-disable-next-line unicorn/no-process-exit -- whatever a start hangs in would keep the process
    setTimeout(() => process.exit(0), startStopLimitMs).unref();
    return undefined;
  });
  try {
    const database = await Promise.race([opening, stopped]);
    if (database !== undefined) {
      isOpen = true;
      return database;
    }
    // The signal aborts the opening; the time limit above ends the process if it hangs.
    await opening.then(
      (late) => late.close(),
      () => undefined,
    );
    return undefined;
  } finally {
    progress.end();
  }
}
