/*
 * Latencies are counted in ranges whose width grows by a constant factor: eight ranges per doubling. Counts of ranges can be
 * added over time and over nodes, but percentiles cannot. The ranges cost an error of some 4 % of a percentile's value.
 */

const rangesPerDoubling = 8;
/** The last range has all latencies above some 50 days. */
const lastRange = 256;
const allRanges = Array.from({ length: lastRange + 1 }, (_, range) => range);

/** The number of a latency's range, from 0. A latency that is negative, because clocks differ, counts as 0. */
export function latencyRange(latencyMs: number): number {
  if (latencyMs <= 0) return 0;
  return Math.min(lastRange, Math.floor(Math.log2(latencyMs + 1) * rangesPerDoubling));
}

/** The number of latencies in each of these ranges, in ascending order. */
export interface LatencyCounts {
  ranges: readonly number[];
  counts: readonly number[];
}

export function addLatencies(parts: readonly LatencyCounts[]): LatencyCounts {
  if (parts.length === 1) return parts[0]!;
  const sums = new Float64Array(lastRange + 1);
  for (const { ranges, counts } of parts) {
    for (let index = 0; index < ranges.length; index++) sums[ranges[index]!]! += counts[index]!;
  }
  const ranges = allRanges.filter((range) => sums[range]! > 0);
  return { ranges, counts: ranges.map((range) => sums[range]!) };
}

/**
 * Percentiles in milliseconds, each as the middle of its range.
 * @param parts ascending fractions, each more than 0 and at most 1; 0.5 for the median.
 * @returns null when nothing was counted.
 */
export function percentiles({ ranges, counts }: LatencyCounts, parts: readonly number[]): number[] | null {
  let all = 0;
  for (const count of counts) all += count;
  if (all === 0) return null;
  const found: number[] = [];
  let below = 0;
  for (let index = 0; found.length < parts.length; index++) {
    below += counts[index]!;
    while (found.length < parts.length && below >= all * parts[found.length]!)
      found.push(middles[ranges[index]!]!);
  }
  return found;
}

/** The latency in milliseconds that represents a range: its middle. */
export function latencyOf(range: number): number {
  return middles[range]!;
}

const middles = allRanges.map((range) => Math.round(2 ** ((range + 0.5) / rangesPerDoubling) - 1));
