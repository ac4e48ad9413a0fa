import { expect, test } from "vitest";
import { restBetween } from "./restBetween.ts";

test("a long read pauses between its steps; the pause grows with the database's response time, up to a limit", async () => {
  let nowMs = 0;
  const rests: number[] = [];
  const inSteps = restBetween({
    undisturbedMs: 20,
    maxRestMs: 200,
    now: () => nowMs,
    rest: async (ms) => void rests.push(ms),
  });
  for (const tookMs of [50, 5, 20, 1_000, 21, 400]) {
    expect(
      await inSteps(async () => {
        nowMs += tookMs;
        return tookMs;
      }),
    ).toBe(tookMs);
  }
  expect(rests).toEqual([30, 200, 1]);
});
