import { expect, test } from "vitest";
import { createRestarts, mostQuickDeaths, quickDeathMs } from "./workers.ts";

const workers = 2;

test("a worker that served for long is replaced at once, every time", () => {
  const restart = createRestarts(workers);
  const delays = Array.from({ length: 20 }, () => restart(quickDeathMs));
  expect(delays).toEqual(Array(20).fill(0));
});

test("the delay before a replacement grows with each quick death in a row, until no worker is started any more", () => {
  const restart = createRestarts(workers);
  const delays = Array.from({ length: mostQuickDeaths(workers) }, () => restart(0));
  expect(delays[0]).toBe(0);
  const waits = delays.slice(0, -1);
  expect(waits).toEqual(waits.toSorted((a, b) => a! - b!));
  expect(delays.at(-1)).toBeUndefined();
});

test("the death of a worker that served for long resets the count of quick deaths", () => {
  const restart = createRestarts(workers);
  for (let death = 1; death < mostQuickDeaths(workers); death++) restart(10);
  expect(restart(quickDeathMs)).toBe(0);
  for (let death = 1; death < mostQuickDeaths(workers); death++) expect(restart(10)).toBeDefined();
  expect(restart(10)).toBeUndefined();
});

test("workers are still replaced after one fault has ended all of them at once, however many there are", () => {
  for (const many of [2, 16, 64]) {
    const restart = createRestarts(many);
    for (let death = 0; death <= many; death++) expect(restart(0)).toBeDefined();
  }
});
