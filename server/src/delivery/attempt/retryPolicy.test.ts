import fc from "fast-check";
import { expect, test } from "vitest";
import { nextDelayMs } from "./retryPolicy.ts";

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0);
const first = { attempt: 1, intervalSeconds: 30, maxRetries: 8, nowMs, random: 0.5 };

const randomArbitrary = fc.double({ min: 0, max: 0.999_999, noNaN: true });
const scheduleArbitrary = fc.record({
  attempt: fc.integer({ min: 1, max: 2000 }),
  intervalSeconds: fc.integer({ min: 0, max: 86_400 }),
  random: randomArbitrary,
});

test("the default schedule waits 30 s, then three times as long each time, and takes about 27 h", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => nextDelayMs({ ...first, attempt }) ?? 0);
  expect(delays.map((ms) => ms / 1000)).toEqual([30, 90, 270, 810, 2430, 7290, 21_870, 65_610]);
  expect(delays.reduce((sum, ms) => sum + ms) / 3_600_000).toBeCloseTo(27.3, 1);
});

test("there are exactly maxRetries + 1 attempts", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), randomArbitrary, (maxRetries, random) => {
      let attempts = 1;
      while (nextDelayMs({ ...first, attempt: attempts, maxRetries, random }) !== null) {
        attempts += 1;
      }
      expect(attempts).toBe(maxRetries + 1);
    }),
  );
});

test("every wait is a whole number of milliseconds within ±20 % of the schedule and at most 24 h", () => {
  fc.assert(
    fc.property(scheduleArbitrary, (schedule) => {
      const delay = nextDelayMs({ ...first, ...schedule, maxRetries: 5000 });
      const base = Math.min(
        schedule.intervalSeconds === 0 ? 0 : schedule.intervalSeconds * 1000 * 3 ** (schedule.attempt - 1),
        dayMs,
      );
      expect(Number.isInteger(delay)).toBe(true);
      expect(delay).toBeGreaterThanOrEqual(Math.floor(base * 0.8));
      expect(delay).toBeLessThanOrEqual(Math.min(Math.ceil(base * 1.2), dayMs));
    }),
  );
});

test("the range of possible delays never shrinks from one attempt to the next", () => {
  fc.assert(
    fc.property(scheduleArbitrary, (schedule) => {
      const now = nextDelayMs({ ...first, ...schedule, maxRetries: 5000 }) ?? -1;
      const next = nextDelayMs({
        ...first,
        ...schedule,
        attempt: schedule.attempt + 1,
        maxRetries: 5000,
      });
      expect(next).toBeGreaterThanOrEqual(now);
    }),
  );
});

test("Retry-After is a minimum: the wait is never below the schedule's delay or 1 s, and at most 24 h", () => {
  const seconds = fc.integer({ min: 0, max: 10_000_000 });
  fc.assert(
    fc.property(scheduleArbitrary, seconds, fc.boolean(), (schedule, asked, asDate) => {
      const retryAfter = asDate ? new Date(nowMs + asked * 1000).toUTCString() : String(asked);
      const plain = nextDelayMs({ ...first, ...schedule, maxRetries: 5000 }) ?? -1;
      const wait = nextDelayMs({ ...first, ...schedule, maxRetries: 5000, retryAfter });
      expect(wait).toBe(Math.min(Math.max(plain, asked * 1000, 1000), dayMs));
    }),
  );
});

test.each([
  ["45", 45_000],
  [" 45 ", 45_000],
  ["0", 30_000],
  ["3600", 3_600_000],
  ["86400", dayMs],
  ["86401", dayMs],
  ["999999999999999", dayMs],
  ["9999999999999999", dayMs],
  ["9".repeat(400), dayMs],
  ["Tue, 24 Nov 2026 12:00:00 GMT", dayMs],
  ["Sat, 21 Nov 2026 12:00:40 GMT", 40_000],
  ["Saturday, 21-Nov-26 12:00:40 GMT", 40_000],
  ["Sat Nov 21 12:00:40 2026", 40_000],
  ["Sat, 21 Nov 2020 12:00:00 GMT", 30_000],
])("Retry-After %j waits %d ms when the schedule says 30 s", (retryAfter, expected) => {
  expect(nextDelayMs({ ...first, retryAfter })).toBe(expected);
});

test.each([
  "",
  "soon",
  "-5",
  "1.5",
  "1e3",
  "0x10",
  "Infinity",
  "NaN",
  "foo 1",
  "2026-11-21",
  "Sat, 99 Foo 2026 12:00:40 GMT",
  "4\u0000",
])("an unreadable Retry-After (%j) is ignored", (retryAfter) => {
  expect(nextDelayMs({ ...first, retryAfter })).toBe(30_000);
});

test("no Retry-After value makes the delay invalid", () => {
  fc.assert(
    fc.property(fc.string(), (retryAfter) => {
      const delay = nextDelayMs({ ...first, retryAfter });
      expect(delay).toBeGreaterThanOrEqual(30_000);
      expect(delay).toBeLessThanOrEqual(dayMs);
    }),
  );
});
