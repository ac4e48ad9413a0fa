import fc from "fast-check";
import { expect, it } from "vitest";
import { deadlineMs, firstPollMs, nextPollMs } from "./handoffStore.ts";

it("polls start after one second and become less frequent, down to one a minute", () => {
  const waits = Array.from({ length: 15 }, (_, polls) => nextPollMs("WORKING", polls, 0.5));
  expect(waits.slice(0, 4)).toEqual([1_000, 1_600, 2_560, 4_096]);
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(waits.at(-1)).toBe(60_000);
});

it("a task that waits for its client is polled once a minute, and followed seven times as long", () => {
  expect(firstPollMs("INPUT_REQUIRED")).toBe(60_000);
  expect(nextPollMs("AUTH_REQUIRED", 0, 0.5)).toBe(60_000);
  expect(deadlineMs("INPUT_REQUIRED", 1_000)).toBe(7_000);
  expect(deadlineMs("WORKING", 1_000)).toBe(1_000);
});

it("delays vary by ten percent and are whole numbers, for any number of polls", () => {
  fc.assert(
    fc.property(
      fc.nat(32_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (polls, random) => {
        const waitMs = nextPollMs("WORKING", polls, random);
        expect(Number.isInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(900);
        expect(waitMs).toBeLessThanOrEqual(66_000);
      },
    ),
  );
});
