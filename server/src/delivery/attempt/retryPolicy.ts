import { retryAfterMs } from "../../outbound/retryAfter.ts";

/** No wait between two attempts is longer, whatever the schedule or the receiver says. */
const maxDelayMs = 24 * 60 * 60 * 1000;
/** `Retry-After` is never read as less than this. */
const minRetryAfterMs = 1000;
const growth = 3;
/** Jitter: ±20 %, evenly, so that what failed together is not retried together. */
const jitter = 0.2;

/** The attempt that just failed, as far as the schedule needs it. */
export interface FailedAttempt {
  /** 1 for the first attempt of this schedule; a replay or a re-enable starts at 1 again. */
  attempt: number;
  intervalSeconds: number;
  /** Retries after the first attempt: `maxRetries + 1` attempts in all. */
  maxRetries: number;
  /** The receiver's `Retry-After` header, as received. */
  retryAfter?: string | null | undefined;
  nowMs: number;
  /** At least 0, less than 1. */
  random: number;
}

/**
 * How long to wait before the next attempt, in whole milliseconds, or null when the attempts are used up.
 *
 * Attempt n+1 waits `interval × 3^(n-1)`, ±20 %, at most 24 h. `Retry-After` is the least wait, never under 1 s; the
 * cap of 24 h holds for it too. Anything unreadable in it is ignored.
 */
export function nextDelayMs(failed: FailedAttempt): number | null {
  if (failed.attempt > failed.maxRetries) {
    return null;
  }
  const delayMs = scheduledDelayMs(failed);
  const askedMs = failed.retryAfter ? retryAfterMs(failed.retryAfter, failed.nowMs) : null;
  if (askedMs === null) {
    return delayMs;
  }
  return Math.min(Math.max(askedMs, delayMs, minRetryAfterMs), maxDelayMs);
}

function scheduledDelayMs({ attempt, intervalSeconds, random }: FailedAttempt): number {
  // The cap comes first: 3^n overflows to Infinity for large n, and Infinity × 0 would be NaN.
  const factor = Math.min(growth ** (attempt - 1), maxDelayMs);
  const baseMs = Math.min(intervalSeconds * 1000 * factor, maxDelayMs);
  const spread = 1 - jitter + 2 * jitter * random;
  return Math.min(Math.round(baseMs * spread), maxDelayMs);
}
