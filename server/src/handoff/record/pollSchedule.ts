import { isInterrupted } from "../agent/readTask.ts";

const firstMs = 1_000;
const maxMs = 60_000;
const growth = 1.6;
const jitter = 0.1;
/** A task that waits for its client's answer is followed for this many times as long. */
const interruptedFactor = 7;

/** When a task that has just been seen in `state` is looked at again, in milliseconds. */
export function firstPollMs(state: string | null): number {
  return isInterrupted(state) ? maxMs : firstMs;
}

/**
 * When a task is looked at again that has not changed for `polls` looks, in whole milliseconds: from one second to
 * one minute, ±10 %, so that what began together is not asked about together.
 * @param random At least 0, less than 1.
 */
export function nextPollMs(state: string | null, polls: number, random: number): number {
  const plainMs = isInterrupted(state) ? maxMs : Math.min(firstMs * growth ** Math.min(polls, 20), maxMs);
  return Math.round(plainMs * (1 - jitter + 2 * jitter * random));
}

/** How long from now a task is followed unless it changes, in milliseconds. */
export function deadlineMs(state: string | null, quietMs: number): number {
  return isInterrupted(state) ? quietMs * interruptedFactor : quietMs;
}
