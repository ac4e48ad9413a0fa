import type pg from "pg";
import { bucketOf } from "../postgres/ids.ts";
import { addLatencies, type LatencyCounts, latencyOf, percentiles } from "../items/latencyRanges.ts";
import { piecesOf, type Range } from "./steps.ts";

export interface Counts {
  accepted: number;
  delivered: number;
  retried: number;
  failed: number;
}

export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** What happened, and how long deliveries took from acceptance to the receiver's answer, in milliseconds. */
export interface Activity extends Counts {
  latency_ms: Percentiles | null;
}

export interface Stats {
  points: (Activity & { at: number })[];
  totals: Activity;
}

/** Whose activity: an organization's, or that of one of its targets. */
export interface Scope {
  orgId: string;
  targetId?: string | undefined;
}

interface Part extends Counts {
  /** The step; null where it counts towards the totals of latencies alone. */
  at: number | null;
  /** The ranges of percentiles that were kept with the step; null where nothing was delivered. */
  p50: number | null;
  p95: number | null;
  p99: number | null;
  /** The ranges that latencies lie in, with blanks between: to split them is faster than the driver's reading of arrays. */
  ranges: string | null;
  /** How many in each; null for one in each. */
  counts: string | null;
}

/** Statistics of a range; steps in which nothing happened are left out. What is not folded yet is counted in. */
export async function readStats(pool: pg.Pool, scope: Scope, range: Range): Promise<Stats> {
  const pieces = piecesOf(range);
  const { rows } = await pool.query<Part>({
    name: scope.targetId === undefined ? "organization_stats" : "target_stats",
    text: scope.targetId === undefined ? organizationText : targetText,
    values: [
      scope.orgId,
      range.step,
      range.from,
      range.to,
      pieces.map((piece) => piece.step),
      pieces.map((piece) => piece.from),
      pieces.map((piece) => piece.to),
      ...(scope.targetId === undefined ? [] : [scope.targetId, bucketOf(scope.targetId)]),
    ],
  });
  const steps = new Map<number, Sum>();
  const all = newSum();
  for (const part of rows) {
    const latencies = readLatencies(part);
    const isFolded = part.p50 !== null;
    // The folded ones come once more for the totals, in as few steps as there can be.
    if (latencies !== undefined && (part.at === null || part.counts === null)) all.latencies.push(latencies);
    if (part.at === null) continue;
    let step = steps.get(part.at);
    if (step === undefined) steps.set(part.at, (step = newSum()));
    addCounts(step.counts, part);
    addCounts(all.counts, part);
    if (latencies !== undefined) step.latencies.push(latencies);
    else if (isFolded) step.kept = keptPercentiles(part);
  }
  return {
    points: [...steps].sort(([one], [other]) => one - other).map(([at, sum]) => pointOf(at, sum)),
    totals: activityOf(all),
  };
}

/** Of a range in which nothing happened. */
export const noStats: Stats = { points: [], totals: activityOf(newSum()) };

interface Sum {
  counts: Counts;
  latencies: LatencyCounts[];
  /** In place of latencies, where they are of one folded step. */
  kept: Percentiles | null;
}

function newSum(): Sum {
  return { counts: { accepted: 0, delivered: 0, retried: 0, failed: 0 }, latencies: [], kept: null };
}

function addCounts(sum: Counts, part: Counts): void {
  sum.accepted += part.accepted;
  sum.delivered += part.delivered;
  sum.retried += part.retried;
  sum.failed += part.failed;
}

function keptPercentiles({ p50, p95, p99 }: Part): Percentiles {
  return { p50: latencyOf(p50!), p95: latencyOf(p95!), p99: latencyOf(p99!) };
}

function readLatencies({ ranges, counts }: Part): LatencyCounts | undefined {
  if (ranges === null || ranges === "") return undefined;
  const numbers = numbersIn(ranges);
  if (counts !== null) return { ranges: numbers, counts: numbersIn(counts) };
  // Not folded yet: one for each item.
  return addLatencies([
    ...numbers.map((range) => ({ ranges: [range], counts: [1] })),
    { ranges: [], counts: [] },
  ]);
}

/** Whole numbers with blanks between, in a third of the time of `split` and `Number`. */
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

function pointOf(at: number, sum: Sum): Stats["points"][number] {
  return { at, ...activityOf(sum) };
}

function activityOf({ counts, latencies, kept }: Sum): Activity {
  return { ...counts, latency_ms: kept ?? percentilesOf(latencies) };
}

function percentilesOf(latencies: readonly LatencyCounts[]): Percentiles | null {
  const found = percentiles(addLatencies(latencies), [0.5, 0.95, 0.99]);
  return found === null ? null : { p50: found[0]!, p95: found[1]!, p99: found[2]! };
}

/**
 * Folded steps, and what was written since: of one row there is either. Latencies of a step are read where its percentiles
 * cannot be: they are out of date, or what was written since belongs to it.
 */
function statsText(of: { steps: string; activity: string; mailboxes: string }): string {
  return `
    with unfolded as materialized (
      select
        a.at_ms / 1000 / $2 * $2 as at, a.accepted, a.delivered, a.retried, a.failed, a.latencies
      from target_activity a
      where ${of.activity}
        and a.org_id = $1
        and a.at_ms >= $3::bigint * 1000
        and a.at_ms < $4::bigint * 1000
    ),
    oldest as (
      select coalesce(min(u.at), 9223372036854775807) as at
      from unfolded u
    )
    select
      s.at, s.accepted, s.delivered, s.retried, s.failed, s.p50_range as p50, s.p95_range as p95, s.p99_range as p99,
      case when not is_kept then array_to_string(s.latency_ranges, ' ') end as ranges,
      case when not is_kept then array_to_string(s.latency_counts, ' ') end as counts
    from activity_steps s
    cross join oldest o
    cross join lateral (values (coalesce(s.measured = s.delivered, false) and s.at < o.at)) as k (is_kept)
    where ${of.steps}
      and s.org_id = $1
      and s.step = $2
      and s.at >= $3
      and s.at < $4
    union all
    select u.at, u.accepted, u.delivered, u.retried, u.failed, null, null, null, array_to_string(u.latencies, ' '), null
    from unfolded u
    union all
    select m.minute::bigint * 60 / $2 * $2, m.accepted, m.acknowledged, 0, 0, null, null, null, null, null
    from targets t
    join mailbox_activity m on m.bucket = get_byte(uuid_send(t.id), 15) and m.mailbox_id = t.id
    where ${of.mailboxes}
      and t.org_id = $1
      and m.minute::bigint * 60 >= $3
      and m.minute::bigint * 60 < $4
    union all
    select
      null, 0, 0, 0, 0, null, null, null, array_to_string(s.latency_ranges, ' '), array_to_string(s.latency_counts, ' ')
    from unnest($5::integer[], $6::bigint[], $7::bigint[]) as piece (step, starts, ends)
    join activity_steps s
      on s.step = piece.step
      and s.at >= piece.starts
      and s.at < piece.ends
    where ${of.steps}
      and s.org_id = $1`;
}

const targetText = statsText({
  steps: "s.scope_id = $8",
  activity: "a.target_id = $8",
  mailboxes: "t.id = $8 and m.bucket = $9",
});

const organizationText = statsText({
  steps: "s.scope_id = $1",
  activity: "true",
  mailboxes: "t.kind = 'mailbox'",
});
