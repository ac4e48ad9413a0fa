import { isSuccess } from "../exchange.ts";
import type { NumberSet } from "../numberSet.ts";
import { createTenths } from "../tenths.ts";

export interface Published {
  /** Calls that were answered with a status of the class 2xx. */
  accepted: number;
  /** Calls with another answer. */
  refused: number;
  /** Calls whose connection was lost or could not be opened, or that had no answer within the time limit. */
  unanswered: number;
  /** From the start to the end of the phase, or to the last accepted call if that was later. */
  seconds: number;
  startedAtMs: number;
  /** The longest time between two accepted calls, or from the last one to the end. */
  longestGapMs: number;
  /** The numbers of all events accepted so far, see NumberSet. */
  acceptedEvents: Uint8Array;
  /** Accepted calls in each tenth of a second from the start on. */
  acceptedByTenth: number[];
}

/** Counts answers; times are milliseconds of the machine's monotonic clock. */
export interface Tally {
  startedAtMs: number;
  /** The status is 0 for a call without an answer. */
  answer(number: number, status: number, atMs: number): void;
  /** `endAtMs` is undefined when the phase ended with its last call. */
  result(endAtMs: number | undefined, unanswered: number): Published;
}

export function createTally(acceptedEvents: NumberSet, startedAtMs: number): Tally {
  const counts = { accepted: 0, refused: 0, unanswered: 0, longestGapMs: 0 };
  let acceptedAtMs = startedAtMs;
  const byTenth = createTenths(startedAtMs);
  return {
    startedAtMs,
    answer(number, status, atMs) {
      if (status === 0) counts.unanswered++;
      else if (!isSuccess(status)) counts.refused++;
      else {
        counts.accepted++;
        acceptedEvents.add(number);
        byTenth.count(atMs);
        counts.longestGapMs = Math.max(counts.longestGapMs, atMs - acceptedAtMs);
        acceptedAtMs = atMs;
      }
    },
    result(endAtMs, unanswered) {
      const lastMs = Math.max(acceptedAtMs, endAtMs ?? 0);
      return {
        ...counts,
        unanswered: counts.unanswered + unanswered,
        longestGapMs: Math.max(counts.longestGapMs, lastMs - acceptedAtMs),
        seconds: (lastMs - startedAtMs) / 1_000,
        startedAtMs,
        acceptedEvents: acceptedEvents.bits(),
        acceptedByTenth: byTenth.counts,
      };
    },
  };
}
