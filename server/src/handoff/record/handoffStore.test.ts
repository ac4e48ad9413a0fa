import fc from "fast-check";
import { expect, it } from "vitest";
import { deadlineMs, firstPollMs, nextPollMs } from "./handoffStore.ts";

it("looks come after one second first, then less often, at least every minute", () => {
  const waits = Array.from({ length: 15 }, (_, polls) => nextPollMs("WORKING", polls, 0.5));
  expect(waits.slice(0, 4)).toEqual([1_000, 1_600, 2_560, 4_096]);
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(waits.at(-1)).toBe(60_000);
});

it("a task that waits for its client is looked at once a minute, and waited for seven times as long", () => {
  expect(firstPollMs("INPUT_REQUIRED")).toBe(60_000);
  expect(nextPollMs("AUTH_REQUIRED", 0, 0.5)).toBe(60_000);
  expect(deadlineMs("INPUT_REQUIRED", 1_000)).toBe(7_000);
  expect(deadlineMs("WORKING", 1_000)).toBe(1_000);
});

it("waits are spread by a tenth and whole, for any number of looks", () => {
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
