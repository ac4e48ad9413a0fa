import { atMost, type Figure, whole } from "../figures.ts";
import { type LoadResult, summarize } from "../load.ts";
import type { Arrivals } from "./arrivals.ts";
import type { Seen, Traffic } from "./traffic.ts";

/** A part of the run; times are of `performance.now()`. */
export interface Phase {
  fromMs: number;
  toMs: number;
}

export interface Measured {
  traffic: Traffic;
  /** Unexpected answers and broken connections. */
  problems: readonly string[];
  arrivals: Arrivals;
  /** The phase in which only the previous version runs. */
  alone: Phase;
  /** The phase from the new version's start until a few seconds after all indexes are built. */
  upgrade: Phase;
  startedInMs: number;
  builtInMs: number;
  events: number;
}

/** The goal for the longest pause. */
const pauseMs = 1_000;

export function reportOf(measured: Measured): Figure[] {
  const { traffic, problems, arrivals, alone, upgrade, events } = measured;
  for (const problem of problems.slice(0, 5)) process.stderr.write(`  ${problem}\n`);
  const accepted = traffic.sent.map(({ answeredMs }) => answeredMs);
  return [
    { name: "stored events", value: whole(events) },
    { name: "items accepted during the upgrade", value: whole(within(traffic.sent, upgrade).length) },
    { name: "the new version serves after", value: seconds(measured.startedInMs) },
    { name: "all indexes are built after", value: seconds(measured.builtInMs) },
    answers("answers to items", traffic.sent, measured),
    answers("answers to claims and acknowledgements", traffic.claimed, measured),
    pause(
      "longest time without an accepted item",
      longestGap(accepted, upgrade),
      longestGap(accepted, alone),
    ),
    pause(
      "longest time without a delivery",
      longestGap(arrivals.atMs, upgrade),
      longestGap(arrivals.atMs, alone),
    ),
    none("requests refused", problems.length),
    ...delivered(traffic, arrivals),
  ];
}

/** The figure of the answer times; its goal is for the longest one. */
function answers(name: string, seen: readonly Seen[], { alone, upgrade }: Measured): Figure {
  const took = (phase: Phase): LoadResult => {
    const tookMs = within(seen, phase).map(({ dueMs, answeredMs }) => answeredMs - dueMs);
    return summarize(tookMs, 0, 1);
  };
  const [before, during] = [took(alone), took(upgrade)];
  const words = ({ p50, p99, max }: LoadResult): string =>
    `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, longest ${max.toFixed(0)} ms`;
  const value = `${words(during)} (before: ${words(before)})`;
  return { ...atMost(name, during.max, pauseMs), value };
}

function pause(name: string, during: Gap, before: Gap): Figure {
  const value = `${during.ms.toFixed(0)} ms, after ${seconds(during.afterMs)} (before: ${before.ms.toFixed(0)} ms)`;
  return { ...atMost(name, during.ms, pauseMs), value };
}

function none(name: string, count: number): Figure {
  return { ...atMost(name, count, 0, ""), value: whole(count) };
}

function within(seen: readonly Seen[], { fromMs, toMs }: Phase): Seen[] {
  return seen.filter(({ answeredMs }) => answeredMs >= fromMs && answeredMs <= toMs);
}

interface Gap {
  ms: number;
  /** Time from the start of the phase to the start of the gap. */
  afterMs: number;
}

function longestGap(atMs: readonly number[], { fromMs, toMs }: Phase): Gap {
  const moments = [fromMs, ...atMs.filter((at) => at > fromMs && at < toMs).toSorted((a, b) => a - b), toMs];
  const gaps = moments.slice(1).map((at, n) => ({ ms: at - moments[n]!, afterMs: moments[n]! - fromMs }));
  return gaps.reduce((longest, gap) => (gap.ms > longest.ms ? gap : longest));
}

function delivered({ accepted, acknowledged, mailboxId }: Traffic, { counts }: Arrivals): Figure[] {
  const acknowledgements = new Map<string, number>();
  for (const id of acknowledged) acknowledgements.set(id, (acknowledgements.get(id) ?? 0) + 1);
  let lost = 0;
  let doubled = 0;
  for (const [targetId, ids] of accepted) {
    const times = targetId === mailboxId ? acknowledgements : counts;
    lost += ids.filter((id) => !times.has(id)).length;
    doubled += ids.filter((id) => times.get(id)! > 1).length;
  }
  return [none("items lost", lost), none("items delivered or acknowledged twice", doubled)];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
