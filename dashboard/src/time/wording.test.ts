import { expect, it } from "vitest";
import { shortTime } from "./wording.ts";

const nowMs = Date.UTC(2026, 10, 28, 20, 0, 0);

it.each([
  [Date.UTC(2026, 10, 28, 12, 4, 11), "12:04:11"],
  [Date.UTC(2026, 10, 21, 12, 4, 11), "21 Nov 12:04:11"],
  [Date.UTC(2025, 10, 28, 12, 4, 11), "28 Nov 2025 12:04:11"],
  [Date.UTC(2025, 11, 31, 23, 59, 59), "31 Dec 2025 23:59:59"],
])(
  "a time shows its day unless it is today, and its year unless it is this year: %i is %s",
  (atMs, words) => {
    expect(shortTime(atMs / 1000, "UTC", nowMs)).toBe(words);
  },
);
