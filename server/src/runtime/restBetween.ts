import { setTimeout as sleep } from "node:timers/promises";

/** Durations in milliseconds. */
export interface RestOptions {
  /** Duration of one step on an idle database. */
  undisturbedMs: number;
  maxRestMs: number;
  now?: () => number;
  rest?: (ms: number) => Promise<unknown>;
}

/**
 * Runs the steps of a long read with pauses. A pause is as long as the previous step took beyond its duration on an idle
 * database. A busy database gets about half of the work in the same time, and other statements can run in between.
 */
export function restBetween({
  undisturbedMs,
  maxRestMs,
  now = () => performance.now(),
  rest = sleep,
}: RestOptions): <T>(step: () => Promise<T>) => Promise<T> {
  let restMs = 0;
  return async (step) => {
    if (restMs > 0) await rest(restMs);
    const startMs = now();
    const result = await step();
    restMs = Math.min(now() - startMs - undisturbedMs, maxRestMs);
    return result;
  };
}
