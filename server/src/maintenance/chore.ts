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

export interface Loop {
  /** Runs the chore now, or once more right after the present run. */
  wake(): void;
  stop(): Promise<void>;
}

/**
 * Runs a chore after `firstAfterMs` and then every `everyMs` after it has ended; a failure is logged and the next run tries
 * again.
 */
export function startLoop(chore: Chore, log: Log, firstAfterMs: number = 0): Loop {
  let timer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();
  let isRunning = false;
  let isWoken = false;
  let running = Promise.resolve();

  function schedule(afterMs: number): void {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => {
      isRunning = true;
      running = run().finally(() => {
        isRunning = false;
        schedule(isWoken ? 0 : chore.everyMs);
        isWoken = false;
      });
    }, afterMs);
  }

  async function run(): Promise<void> {
    const startedAtMs = performance.now();
    try {
      const counts = await chore.runOnce(stopping.signal);
      if (Object.values(counts).every((count) => count === 0)) return;
      log.info(
        { chore: chore.name, ...counts, duration_ms: Math.round(performance.now() - startedAtMs) },
        "chore",
      );
    } catch (error) {
      log.warn({ chore: chore.name, err: error }, "a chore failed; it is tried again");
    }
  }

  schedule(firstAfterMs);
  return {
    wake() {
      if (isRunning) {
        isWoken = true;
        return;
      }
      clearTimeout(timer);
      schedule(0);
    },
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
