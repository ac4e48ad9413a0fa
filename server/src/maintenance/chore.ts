import type { ClockCheck } from "../postgres/clock.ts";
import { neverQuiet, type Quiet } from "../runtime/quiet.ts";
import type { Log } from "../telemetry/log.ts";

/** Something the service does by itself, over and over. */
export interface Chore {
  /** For logs, in the words of an operator. */
  name: string;
  everyMs: number;
  /**
   * Does it once and says what it did; nothing is logged while all counts are zero. A stop waits for it, so what takes long ends early
   * by the signal.
   */
  runOnce: (stopping: AbortSignal) => Promise<Record<string, number>>;
}

/**
 * A chore's work that goes by time, such as deleting what is past some, by the earlier of the two clocks. It rests while they disagree:
 * a process with a wrong clock, or a database with one, must not take what others keep. The clock itself says so in the log.
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
  /** Never quiet unless told. */
  quiet?: Quiet;
}

/** The least pause between two runs of a chore while the process is quiet. */
export const quietEveryMs = 15_000;
/** How often a chore that keeps failing with the same error is logged. */
export const sameFailureEveryMs = 60_000;

/**
 * Runs a chore after `firstAfterMs` and then every `everyMs` after it has ended; a failure is logged and the next run tries
 * again. While the process is quiet, the pause is `quietEveryMs` at least; a run that did something ends the quiet.
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
  const failures = failureLog(chore.name, log);

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

  /** Not at once: what ended the quiet is to be served first. */
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
      failures.end();
      if (Object.values(counts).every((count) => count === 0)) return;
      quiet.note();
      log.info(
        { chore: chore.name, ...counts, duration_ms: Math.round(performance.now() - startedAtMs) },
        "chore",
      );
    } catch (error) {
      failures.note(error);
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

/** Logs the same failure once a minute only: chores run every second, and all of them fail while the database is away. */
function failureLog(chore: string, log: Log): { note(error: unknown): void; end(): void } {
  let failures = 0;
  let logged: { message: string; atMs: number } | undefined;
  return {
    note(error) {
      failures += 1;
      const message = error instanceof Error ? error.message : String(error);
      const nowMs = performance.now();
      if (logged?.message === message && nowMs - logged.atMs < sameFailureEveryMs) return;
      logged = { message, atMs: nowMs };
      log.warn({ chore, failures, err: error }, "a chore failed; it is tried again");
    },
    end() {
      if (failures > 0) log.info({ chore, failures }, "a chore succeeds again");
      failures = 0;
      logged = undefined;
    },
  };
}
