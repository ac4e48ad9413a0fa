import type { ClockCheck } from "../postgres/clock.ts";
import { neverQuiet, type Quiet } from "../runtime/quiet.ts";
import type { Log } from "../telemetry/log.ts";

/** Background work that the service repeats. */
export interface Chore {
  /** Name in the log, in words that operators use. */
  name: string;
  everyMs: number;
  /**
   * Runs the chore once and returns counts of the work done; they are logged unless all are zero. A stop waits for the run, so
   * long runs must end early when `stopping` aborts.
   */
  runOnce: (stopping: AbortSignal) => Promise<Record<string, number>>;
}

/**
 * Wraps work that depends on the time, such as deleting rows by age. Passes it the earlier of the process's and the database's
 * clock, and skips it while they are apart: a wrong clock must not delete rows that are still to be kept. The clock check logs
 * the difference.
 */
export function trimming(
  clock: Pick<ClockCheck, "look">,
  run: (nowMs: number) => Promise<Record<string, number>>,
): () => Promise<Record<string, number>> {
  return async () => {
    const { earlierMs, isApart } = await clock.look();
    return isApart ? {} : run(earlierMs);
  };
}

export type Loop = ReturnType<typeof startLoop>;

interface LoopOptions {
  firstAfterMs?: number;
  /** Never quiet unless given. */
  quiet?: Quiet;
}

/** Minimum pause between two runs of a chore while the process is quiet. */
export const quietEveryMs = 15_000;

/**
 * Runs a chore after `firstAfterMs`, and then again `everyMs` after each run has ended; a failure is logged, and the next run
 * tries again. While the process is quiet, the pause is at least `quietEveryMs`; a run that did work ends the quiet state.
 */
export function startLoop(chore: Chore, log: Log, options: LoopOptions = {}) {
  const { firstAfterMs = 0, quiet = neverQuiet } = options;
  const stopWaking = quiet.onEnd(endLongPause);
  let isLongPause = false;
  let timer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();
  let isRunning = false;
  let isWoken = false;
  let running = Promise.resolve();
  let failures = 0;

  function schedule(afterMs: number): void {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => {
      isRunning = true;
      running = run().finally(() => {
        isRunning = false;
        isLongPause = !isWoken && chore.everyMs < quietEveryMs && quiet.isQuiet();
        schedule(isWoken ? 0 : isLongPause ? quietEveryMs : chore.everyMs);
        isWoken = false;
      });
    }, afterMs);
  }

  /** Ends a long pause, but does not run at once: the request that ended the quiet state is served first. */
  function endLongPause(): void {
    if (isRunning || !isLongPause) return;
    isLongPause = false;
    clearTimeout(timer);
    schedule(chore.everyMs);
  }

  async function run(): Promise<void> {
    const startedAtMs = performance.now();
    try {
      const counts = await chore.runOnce(stopping.signal);
      if (failures > 0) log.info({ chore: chore.name, failures }, "a chore succeeds again");
      failures = 0;
      if (Object.values(counts).every((count) => count === 0)) return;
      quiet.note();
      log.info(
        { chore: chore.name, ...counts, duration_ms: Math.round(performance.now() - startedAtMs) },
        "chore",
      );
    } catch (error) {
      failures += 1;
      log.warn({ chore: chore.name, err: error }, "a chore failed; it is tried again");
    }
  }

  schedule(firstAfterMs);
  return {
    /** Runs the chore now, or once more right after the present run. */
    wake(): void {
      if (isRunning) {
        isWoken = true;
        return;
      }
      clearTimeout(timer);
      schedule(0);
    },
    async stop(): Promise<void> {
      stopping.abort();
      stopWaking();
      clearTimeout(timer);
      await running;
    },
  };
}
