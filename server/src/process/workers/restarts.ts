/** A worker that served for less was of no use. */
export const quickDeathMs = 5_000;
/** How long to wait before each replacement in a row of quick deaths: a machine that is short of memory gets a moment. */
const delaysMs = [0, 0, 250, 1_000, 4_000];

/** With so many quick deaths in a row the service ends, because the next worker would die, too. One fault may end all workers at once. */
export function mostQuickDeaths(workers: number): number {
  return 4 + workers;
}

/**
 * Gives a function that is told how long a worker served that died, 0 if it never did, and says after how many milliseconds
 * another is to take its place; undefined when none is to.
 */
export function createRestarts(workers: number): (servedMs: number) => number | undefined {
  let quickDeaths = 0;
  return (servedMs) => {
    quickDeaths = servedMs < quickDeathMs ? quickDeaths + 1 : 0;
    if (quickDeaths >= mostQuickDeaths(workers)) return undefined;
    return delaysMs[Math.min(quickDeaths, delaysMs.length - 1)];
  };
}
