import type pg from "pg";
import { bucketOf } from "../postgres/ids.ts";
import { addLatencies, type LatencyCounts, percentiles } from "../items/latencyRanges.ts";
import type { Range } from "./steps.ts";

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
  at: number;
  /** The ranges that latencies lie in, with blanks between: to split them is faster than the driver's reading of arrays. */
  ranges: string | null;
  /** How many in each; null for one in each. */
  counts: string | null;
}

/** Statistics of a range; steps in which nothing happened are left out. What is not folded yet is counted in. */
export async function readStats(pool: pg.Pool, scope: Scope, range: Range): Promise<Stats> {
  const { rows } = await pool.query<Part>({
    name: scope.targetId === undefined ? "organization_stats" : "target_stats",
    text: scope.targetId === undefined ? organizationText : targetText,
    values: [
      scope.orgId,
      range.step,
      range.from,
      range.to,
      ...(scope.targetId === undefined ? [] : [scope.targetId, bucketOf(scope.targetId)]),
    ],
  });
  const steps = new Map<number, Sum>();
  const all = newSum();
  for (const part of rows) {
    let step = steps.get(part.at);
    if (step === undefined) steps.set(part.at, (step = newSum()));
    const read = { ...part, latencies: readLatencies(part) };
    add(step, read);
    add(all, read);
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
}

function newSum(): Sum {
  return { counts: { accepted: 0, delivered: 0, retried: 0, failed: 0 }, latencies: [] };
}

function add({ counts, latencies }: Sum, part: Counts & { latencies: LatencyCounts | undefined }): void {
  counts.accepted += part.accepted;
  counts.delivered += part.delivered;
  counts.retried += part.retried;
  counts.failed += part.failed;
  if (part.latencies !== undefined) latencies.push(part.latencies);
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

function activityOf({ counts, latencies }: Sum): Activity {
  return { ...counts, latency_ms: percentilesOf(latencies) };
}

function percentilesOf(latencies: readonly LatencyCounts[]): Percentiles | null {
  const found = percentiles(addLatencies(latencies), [0.5, 0.95, 0.99]);
  return found === null ? null : { p50: found[0]!, p95: found[1]!, p99: found[2]! };
}

/** Folded steps, and what was written since: of one row there is either. */
function statsText(of: { steps: string; activity: string; mailboxes: string }): string {
  return `
    select s.at, s.accepted, s.delivered, s.retried, s.failed, array_to_string(s.latency_ranges, ' ') as ranges,
      array_to_string(s.latency_counts, ' ') as counts
    from activity_steps s
    where ${of.steps}
      and s.org_id = $1
      and s.step = $2
      and s.at >= $3
      and s.at < $4
    union all
    select
      a.at_ms / 1000 / $2 * $2, a.accepted, a.delivered, a.retried, a.failed,
      array_to_string(a.latencies, ' '), null
    from target_activity a
    where ${of.activity}
      and a.org_id = $1
      and a.at_ms >= $3::bigint * 1000
      and a.at_ms < $4::bigint * 1000
    union all
    select m.minute::bigint * 60 / $2 * $2, m.accepted, m.acknowledged, 0, 0, null, null
    from targets t
    join mailbox_activity m on m.bucket = get_byte(uuid_send(t.id), 15) and m.mailbox_id = t.id
    where ${of.mailboxes}
      and t.org_id = $1
      and m.minute::bigint * 60 >= $3
      and m.minute::bigint * 60 < $4`;
}

const targetText = statsText({
  steps: "s.scope_id = $5",
  activity: "a.target_id = $5",
  mailboxes: "t.id = $5 and m.bucket = $6",
});

const organizationText = statsText({
  steps: "s.scope_id = $1",
  activity: "true",
  mailboxes: "t.kind = 'mailbox'",
});
