import type { Config } from "../config/config.ts";
import type { Log } from "../telemetry/log.ts";
import { type OpenDatabase, openDatabase, type Opening } from "./database/openDatabase.ts";
import { tellProgress } from "./database/startProgress.ts";
import type { StopRequest } from "./stopRequest.ts";

/** How long a start may take to end when it is asked to stop. Nothing can be lost, and a guard stops the embedded PostgreSQL. */
const startStopLimitMs = 5_000;

/**
 * Opens the database; undefined if the process was asked to stop first. The process then ends within seconds, even if the start
 * hangs.
 */
export async function openUnlessStopped(
  config: Config,
  log: Log,
  { say, stop, whileWaiting }: Pick<Opening, "say" | "whileWaiting"> & { stop: StopRequest },
): Promise<OpenDatabase | undefined> {
  const progress = tellProgress(say);
  const opening = openDatabase(config, log, {
    say,
    progress,
    signal: stop.signal,
    ...(whileWaiting && { whileWaiting }),
  });
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
    // It ends by itself, as the signal told it, or is cut off by the limit.
    await opening.then(
      (late) => late.close(),
      () => undefined,
    );
    return undefined;
  } finally {
    progress.end();
  }
}
