import type pg from "pg";
import type { Static } from "typebox";
import { addLatencies, type LatencyCounts, latencyOf, percentiles } from "../items/latencyRanges.ts";
import { int4Array, int8Array } from "../postgres/hot/binaryArray.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import type { RowOf } from "../postgres/hot/functionCall.ts";
import type { Stats } from "./schemas.ts";
import { piecesOf, type Range } from "./steps.ts";

/** Activity, with the latency of deliveries from acceptance to the receiver's answer in milliseconds. */
type Activity = Static<typeof Stats>["totals"];
type Counts = Omit<Activity, "latency_ms">;
type Percentiles = NonNullable<Activity["latency_ms"]>;
type RangeStats = Pick<Static<typeof Stats>, "points" | "totals">;

/** An organization, or one of its targets. */
export interface Scope {
  orgId: string;
  targetId?: string | undefined;
}

/**
 * One row of activity_in_steps.sql, of three kinds: counts and latencies of one step; many steps with stored percentiles;
 * latencies of the whole range.
 */
type Part = RowOf<"activity_in_steps">;

/**
 * Numbers per step: time, four counts, and the latency ranges of three percentiles, each plus one (0 if nothing was delivered).
 */
const numbersPerStep = 8;

/** Reads the statistics of a range, including activity that is not folded yet. Steps without activity are left out. */
export async function readStats(pool: pg.Pool, scope: Scope, range: Range): Promise<RangeStats> {
  const pieces = piecesOf(range);
  const rows = await callFunction(pool, "activity_in_steps", {
    p_org_id: scope.orgId,
    p_target_id: scope.targetId ?? null,
    p_step: range.step,
    p_from: range.from,
    p_to: range.to,
    p_piece_steps: int4Array(pieces.map((piece) => piece.step)),
    p_piece_starts: int8Array(pieces.map((piece) => piece.from)),
    p_piece_ends: int8Array(pieces.map((piece) => piece.to)),
  });
  const steps = new Map<number, Sum>();
  const all = newSum();
  for (const part of rows) {
    if (part.kept !== null) addKeptSteps(steps, all, numbersIn(part.kept));
    const latencies = readLatencies(part);
    // Folded latencies are also returned separately for the totals, in as few steps as possible.
    if (latencies !== undefined && (part.at === null || part.counts === null)) all.latencies.push(latencies);
    if (part.at === null) continue;
    const step = stepAt(steps, part.at);
    addCounts(step.counts, part);
    addCounts(all.counts, part);
    if (latencies !== undefined) step.latencies.push(latencies);
  }
  return {
    points: [...steps]
      .sort(([one], [other]) => one - other)
      .map(([at, sum]) => Object.assign({ at }, activityOf(sum))),
    totals: activityOf(all),
  };
}

function stepAt(steps: Map<number, Sum>, at: number): Sum {
  let step = steps.get(at);
  if (step === undefined) steps.set(at, (step = newSum()));
  return step;
}

function addKeptSteps(steps: Map<number, Sum>, all: Sum, numbers: readonly number[]): void {
  for (let index = 0; index < numbers.length; index += numbersPerStep) {
    const step = stepAt(steps, numbers[index]!);
    const counts = {
      accepted: numbers[index + 1]!,
      delivered: numbers[index + 2]!,
      retried: numbers[index + 3]!,
      failed: numbers[index + 4]!,
    };
    addCounts(step.counts, counts);
    addCounts(all.counts, counts);
    const [p50, p95, p99] = [numbers[index + 5]!, numbers[index + 6]!, numbers[index + 7]!];
    if (p50 === 0) continue;
    step.kept = { p50: latencyOf(p50 - 1), p95: latencyOf(p95 - 1), p99: latencyOf(p99 - 1) };
  }
}

export const noStats: RangeStats = { points: [], totals: activityOf(newSum()) };

interface Sum {
  counts: Counts;
  latencies: LatencyCounts[];
  /** Stored percentiles, used instead of latencies if these come from one folded step. */
  kept: Percentiles | null;
}

function newSum(): Sum {
  return { counts: { accepted: 0, delivered: 0, retried: 0, failed: 0 }, latencies: [], kept: null };
}

function addCounts(sum: Counts, part: Pick<Part, keyof Counts>): void {
  sum.accepted += part.accepted ?? 0;
  sum.delivered += part.delivered ?? 0;
  sum.retried += part.retried ?? 0;
  sum.failed += part.failed ?? 0;
}

function readLatencies({ ranges, counts }: Part): LatencyCounts | undefined {
  if (ranges === null || ranges === "") return undefined;
  const numbers = numbersIn(ranges);
  if (counts !== null) return { ranges: numbers, counts: numbersIn(counts) };
  // Not folded yet: the row has one latency range per item.
  return addLatencies([
    { ranges: numbers, counts: numbers.map(() => 1) },
    { ranges: [], counts: [] },
  ]);
}

/** Parses integers separated by blanks, in a third of the time of `split` and `Number`. */
function numbersIn(text: string): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== blank) {
      number = number * 10 + code - zero;
      continue;
    }
    numbers.push(number);
    number = 0;
  }
  numbers.push(number);
  return numbers;
}

const blank = 0x20;
const zero = 0x30;

function activityOf({ counts, latencies, kept }: Sum): Activity {
  return { ...counts, latency_ms: kept ?? percentilesOf(latencies) };
}

function percentilesOf(latencies: readonly LatencyCounts[]): Percentiles | null {
  const found = percentiles(addLatencies(latencies), [0.5, 0.95, 0.99]);
  return found === null ? null : { p50: found[0]!, p95: found[1]!, p99: found[2]! };
}
