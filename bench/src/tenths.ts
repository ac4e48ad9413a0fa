/** Counts of the occurrences in each tenth of a second, beginning at a start time. */
export interface Tenths {
  count(atMs: number): void;
  counts: number[];
}

const tenthMs = 100;

export function createTenths(startedAtMs: number): Tenths {
  const counts: number[] = [];
  return {
    count(atMs) {
      const tenth = Math.max(0, Math.floor((atMs - startedAtMs) / tenthMs));
      while (counts.length <= tenth) counts.push(0);
      counts[tenth]!++;
    },
    counts,
  };
}

/** The sum of the counts until `ms` milliseconds after the start. */
export function countUntil(counts: readonly number[], ms: number): number {
  return counts.slice(0, Math.round(ms / tenthMs)).reduce((sum, count) => sum + count, 0);
}
