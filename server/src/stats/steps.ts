import { ApiError } from "../http/contract/errors.ts";

/** The steps of time for which statistics are stored, and their retention; all in seconds. */
export const stepsKept = [
  { seconds: 60, keptSeconds: 26 * 3600 },
  { seconds: 300, keptSeconds: 8 * 86_400 },
  { seconds: 3600, keptSeconds: 63 * 86_400 },
  { seconds: 86_400, keptSeconds: 1_100 * 86_400 },
] as const;

export type Step = (typeof stepsKept)[number]["seconds"];

const longestKeptSeconds = Math.max(...stepsKept.map(({ keptSeconds: kept }) => kept));

export const maxPoints = 1_500;
const defaultRangeSeconds = 86_400;
/** The default step gives at most this many points. */
const defaultPoints = 300;

export interface Asked {
  from?: number | undefined;
  to?: number | undefined;
  step?: Step | undefined;
}

export interface Range {
  /** Unix seconds, multiples of the step; `to` is the end of the last step. */
  from: number;
  to: number;
  step: Step;
}

/**
 * The range of a request in whole steps; by default the last 24 hours, in a suitable step.
 * @throws {ApiError} 400 for an empty range, more than 1,500 steps, and steps past their retention.
 */
export function rangeOf({ from, to, step }: Asked, nowSeconds: number): Range {
  const end = to ?? Math.max(nowSeconds, from ?? 0);
  const begin = from ?? Math.max(0, end - defaultRangeSeconds);
  if (begin >= end) throw new ApiError(400, "from must be before to");
  const chosen = step ?? stepFor(begin, end, nowSeconds);
  const range = {
    from: Math.floor(begin / chosen) * chosen,
    to: Math.ceil(end / chosen) * chosen,
    step: chosen,
  };
  const points = (range.to - range.from) / chosen;
  if (nowSeconds - begin > longestKeptSeconds) {
    throw new ApiError(400, `from is too long ago: statistics are kept for ${longestKeptSeconds} s`);
  }
  if (points > maxPoints) {
    throw new ApiError(
      400,
      `step is too short: the range has ${points} steps, and at most ${maxPoints} are allowed`,
    );
  }
  if (nowSeconds - begin > keptSeconds(chosen)) {
    throw new ApiError(
      400,
      `step is too short for this range: steps of ${chosen} s are kept for ${keptSeconds(chosen)} s`,
    );
  }
  return range;
}

/** A part of a range in steps of one length. */
export interface Piece {
  step: Step;
  /** Unix seconds: the beginning of the first step, and the end of the last. */
  from: number;
  to: number;
}

/** Divides the range into as few steps as possible: coarse steps in the middle, fine ones at both ends. */
export function piecesOf({ from, to, step }: Range): Piece[] {
  const coarse = coarserThan(step);
  if (coarse === undefined) return [{ step, from, to }];
  const first = Math.ceil(from / coarse) * coarse;
  const last = Math.floor(to / coarse) * coarse;
  if (first >= last) return [{ step, from, to }];
  return [
    { step, from, to: first },
    { step: coarse, from: first, to: last },
    { step, from: last, to },
  ];
}

/** The next step that is at least 12 times as long, so that a range of {@link maxPoints} steps contains at least ten of them. */
function coarserThan(step: Step): Step | undefined {
  return stepsKept.find(({ seconds }) => seconds >= step * 12)?.seconds;
}

function stepFor(begin: number, end: number, nowSeconds: number): Step {
  const fits = stepsKept.find(
    ({ seconds, keptSeconds: kept }) =>
      (end - begin) / seconds <= defaultPoints && nowSeconds - begin <= kept,
  );
  return fits?.seconds ?? 86_400;
}

function keptSeconds(step: Step): number {
  return stepsKept.find(({ seconds }) => seconds === step)!.keptSeconds;
}
