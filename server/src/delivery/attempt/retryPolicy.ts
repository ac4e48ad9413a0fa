import { retryAfterMs } from "../../outbound/retryAfter.ts";

/** The longest wait between two attempts, also if the schedule or the receiver asks for more. */
const maxDelayMs = 24 * 60 * 60 * 1000;
/** Minimum wait for any `Retry-After`. */
const minRetryAfterMs = 1000;
const growth = 3;
/** Jitter: ±20 %, uniform, so that deliveries that failed together are not retried together. */
const jitter = 0.2;

/** The fields of the failed attempt that the schedule needs. */
export interface FailedAttempt {
  /** 1 for the first attempt of this schedule; a replay or re-enabling the target starts at 1 again. */
  attempt: number;
  intervalSeconds: number;
  /** Retries after the first attempt: `maxRetries + 1` attempts in total. */
  maxRetries: number;
  /** The receiver's `Retry-After` header, as received. */
  retryAfter?: string | null | undefined;
  nowMs: number;
  /** ≥ 0 and < 1. */
  random: number;
}

/**
 * The wait before the next attempt in whole milliseconds, or null if no attempts are left.
 *
 * Attempt n+1 waits `interval × 3^(n-1)`, ±20 %, at most 24 h. `Retry-After` can lengthen the wait but not shorten it; it counts
 * as at least 1 s and at most 24 h. An invalid `Retry-After` is ignored.
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
  // The factor is capped first: 3^n overflows to Infinity for large n, and Infinity × 0 would be NaN.
  const factor = Math.min(growth ** (attempt - 1), maxDelayMs);
  const baseMs = Math.min(intervalSeconds * 1000 * factor, maxDelayMs);
  const spread = 1 - jitter + 2 * jitter * random;
  return Math.min(Math.round(baseMs * spread), maxDelayMs);
}
