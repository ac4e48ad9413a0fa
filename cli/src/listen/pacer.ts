import { setTimeout as delay } from "node:timers/promises";

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** Exponential back-off while the other side does not answer. */
export interface Pacer {
  /** Waits, longer with each failure in a row; ends early, without an error, when `signal` aborts. */
  afterFailure: (signal: AbortSignal) => Promise<void>;
  afterSuccess: () => void;
}

export function createPacer(): Pacer {
  let failures = 0;
  return {
    async afterFailure(signal) {
      const pauseMs = Math.min(firstPauseMs * 2 ** failures++, longestPauseMs);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    },
    afterSuccess() {
      failures = 0;
    },
  };
}
