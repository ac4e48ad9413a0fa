import { expect, it } from "vitest";
import { createQuiet } from "./quiet.ts";

it("is quiet after nothing has happened for a while, unless a client watches", () => {
  let nowMs = 0;
  let isWatched = false;
  const quiet = createQuiet({ afterMs: 60_000, isWatched: () => isWatched, now: () => nowMs });
  nowMs = 59_999;
  expect(quiet.isQuiet()).toBe(false);
  nowMs = 60_000;
  expect(quiet.isQuiet()).toBe(true);
  isWatched = true;
  expect(quiet.isQuiet()).toBe(false);
});

it("ends at once, and wakes each waiting loop once", () => {
  let nowMs = 0;
  let wakes = 0;
  const quiet = createQuiet({ afterMs: 60_000, now: () => nowMs });
  const stopWaking = quiet.onEnd(() => wakes++);
  quiet.note();
  nowMs = 60_000;
  quiet.note();
  quiet.note();
  expect(quiet.isQuiet()).toBe(false);
  expect(wakes).toBe(1);
  stopWaking();
  nowMs = 200_000;
  quiet.note();
  expect(wakes).toBe(1);
});

it("never begins if the limit is infinite", () => {
  let nowMs = 0;
  const quiet = createQuiet({ afterMs: Infinity, now: () => nowMs });
  nowMs = Number.MAX_SAFE_INTEGER;
  expect(quiet.isQuiet()).toBe(false);
});
