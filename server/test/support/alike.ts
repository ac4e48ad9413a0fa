import { expect } from "vitest";

const rounds = 15;

/**
 * Fails where how long an answer takes tells which of two requests it was, by the medians of some of each: without the
 * password's hash one would take less than half as long; the bounds leave room for a busy machine.
 */
export async function expectAlike(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<void> {
  const durations: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const [index, request] of [one, other].entries()) {
      const startedMs = performance.now();
      await request();
      durations[index]!.push(performance.now() - startedMs);
    }
  }
  const ratio = median(durations[0]) / median(durations[1]);
  expect(ratio).toBeGreaterThan(0.6);
  expect(ratio).toBeLessThan(1.7);
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}
