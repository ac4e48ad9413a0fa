import { expect, test } from "vitest";
import { createRestarts, mostQuickDeaths, quickDeathMs } from "./workers.ts";

const workers = 2;

test("a worker that served for long is replaced at once, however often", () => {
  const restart = createRestarts(workers);
  const delays = Array.from({ length: 20 }, () => restart(quickDeathMs));
  expect(delays).toEqual(Array(20).fill(0));
});

test("quick deaths in a row are waited for longer and longer, and then nothing is started any more", () => {
  const restart = createRestarts(workers);
  const delays = Array.from({ length: mostQuickDeaths(workers) }, () => restart(0));
  expect(delays[0]).toBe(0);
  const waits = delays.slice(0, -1);
  expect(waits).toEqual(waits.toSorted((a, b) => a! - b!));
  expect(delays.at(-1)).toBeUndefined();
});

test("one that served for long between them begins the row anew", () => {
  const restart = createRestarts(workers);
  for (let death = 1; death < mostQuickDeaths(workers); death++) restart(10);
  expect(restart(quickDeathMs)).toBe(0);
  for (let death = 1; death < mostQuickDeaths(workers); death++) expect(restart(10)).toBeDefined();
  expect(restart(10)).toBeUndefined();
});

test("a fault that ends all workers at once is not the end, however many there are", () => {
  for (const many of [2, 16, 64]) {
    const restart = createRestarts(many);
    for (let death = 0; death <= many; death++) expect(restart(0)).toBeDefined();
  }
});
