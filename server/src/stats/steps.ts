import { ApiError } from "../http/contract/errors.ts";

/** The steps of time that statistics are kept in, and for how long; all in seconds. */
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
/** A step is chosen that gives no more points than this. */
const defaultPoints = 300;

export interface Asked {
  from?: number | undefined;
  to?: number | undefined;
  step?: Step | undefined;
}

export interface Range {
  /** Unix seconds, multiples of the step: `to` is where the last step ends. */
  from: number;
  to: number;
  step: Step;
}

/**
 * The whole steps that a question is about: the last 24 hours, in a step that suits, unless it says otherwise.
 * @throws {ApiError} 400 for an empty range, more than 1,500 steps, and steps that are not kept for so long.
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
      `step is too short: the range has ${points} steps, and at most ${maxPoints} are answered`,
    );
  }
  if (nowSeconds - begin > keptSeconds(chosen)) {
    throw new ApiError(
      400,
      `step is too short for so long ago: steps of ${chosen} s are kept for ${keptSeconds(chosen)} s`,
    );
  }
  return range;
}

/** A part of a range in steps of one length. */
export interface Piece {
  step: Step;
  /** Unix seconds: where the first step begins, and where the last ends. */
  from: number;
  to: number;
}

/** The range in as few steps as it can be put together from: coarse ones within, fine ones at its ends. */
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

/** The next coarser step of which a page of {@link maxPoints} has at least ten. */
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
