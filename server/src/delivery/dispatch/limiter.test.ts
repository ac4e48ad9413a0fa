import fc from "fast-check";
import { expect, test } from "vitest";
import type { PermitGrant } from "../rows/permits.ts";
import { Limiter } from "./limiter.ts";

const startableMs = 14_000;

function granted(grant: Partial<PermitGrant>): PermitGrant {
  return { targetId: "t", permits: 0, firstInMs: 0, intervalMs: null, burst: 1, requests: null, ...grant };
}

test("permits are used in order, none before its time, and permits whose time has come may be used at once", () => {
  const limiter = new Limiter({ perSecond: 10, maxConcurrency: null });
  expect(limiter.mayBegin(0, 0)).toBe(false);
  expect(limiter.nextBeginMs()).toBe(Number.POSITIVE_INFINITY);
  const grant = granted({ permits: 4, firstInMs: -100, intervalMs: 100, burst: 2 });
  limiter.takeGrant(grant, { askedAtMs: 990, nowMs: 1_000, startableMs });
  expect(limiter.permits).toEqual([1_000, 1_000, 1_100, 1_200]);
  for (const nowMs of [1_000, 1_000]) {
    expect(limiter.mayBegin(0, nowMs)).toBe(true);
    limiter.begin(nowMs);
  }
  expect(limiter.mayBegin(0, 1_099)).toBe(false);
  expect(limiter.nextBeginMs()).toBe(1_100);
  expect(limiter.mayBegin(0, 1_100)).toBe(true);
});

test("a permit expires if it is not used in time", () => {
  const limiter = new Limiter({ perSecond: 10, maxConcurrency: null });
  limiter.takeGrant(granted({ permits: 3, intervalMs: 100 }), { askedAtMs: 0, nowMs: 0, startableMs });
  limiter.dropLate(250);
  expect(limiter.permits).toHaveLength(3);
  limiter.dropLate(351);
  expect(limiter.permits).toEqual([200]);
  expect(limiter.wishFor(5, 0)).toEqual({ permits: 4, requests: 0 });
});

test("late attempts are caught up on at a rate at most a tenth above the limit", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 20 }),
      (steps, burst) => {
        const intervalMs = 10;
        const limiter = new Limiter({ perSecond: 100, maxConcurrency: null });
        const begun: number[] = [];
        let nowMs = 0;
        let firstInMs = 0;
        for (const step of steps) {
          nowMs += step;
          limiter.dropLate(nowMs);
          const permits = 30;
          const atMs = Math.max(firstInMs, nowMs);
          limiter.takeGrant(granted({ permits, firstInMs: atMs - nowMs, intervalMs, burst }), {
            askedAtMs: nowMs,
            nowMs,
            startableMs,
          });
          firstInMs = atMs + permits * intervalMs;
          while (limiter.mayBegin(0, nowMs)) {
            limiter.begin(nowMs);
            begun.push(nowMs);
          }
        }
        for (let first = 0; first < begun.length; first++) {
          for (let last = first; last < begun.length; last++) {
            const allowed =
              Math.max(burst, 1 + 25 / (intervalMs / 1.1)) +
              (1.1 * (begun[last]! - begun[first]!)) / intervalMs;
            expect(last - first).toBeLessThanOrEqual(allowed);
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("a node with late timers still uses nearly all of the rate while items wait", () => {
  const intervalMs = 10;
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { minLength: 500, maxLength: 500 }),
      fc.integer({ min: 1, max: 20 }),
      (latenesses, burst) => {
        const limiter = new Limiter({ perSecond: 1_000 / intervalMs, maxConcurrency: null });
        let nowMs = 0;
        let nextAtMs = 0;
        let begun = 0;
        for (const lateness of latenesses) {
          limiter.dropLate(nowMs);
          // The database gives permits for a quarter of a second ahead.
          const permits = Math.max(0, Math.floor((nowMs + 250 - nextAtMs) / intervalMs));
          const grant = granted({ permits, firstInMs: nextAtMs - nowMs, intervalMs, burst });
          limiter.takeGrant(grant, { askedAtMs: nowMs, nowMs, startableMs });
          nextAtMs += permits * intervalMs;
          while (limiter.mayBegin(0, nowMs)) {
            limiter.begin(nowMs);
            begun++;
          }
          nowMs = Math.max(nowMs, limiter.nextBeginMs()) + lateness;
        }
        expect(begun).toBeGreaterThanOrEqual((0.9 * nowMs) / intervalMs - 3);
      },
    ),
    { numRuns: 50 },
  );
});

test("the share limits the requests in flight, and no request begins under a lapsed share", () => {
  const limiter = new Limiter({ perSecond: null, maxConcurrency: 5 });
  expect(limiter.mayBegin(0, 0)).toBe(false);
  limiter.takeGrant(granted({ requests: 2 }), { askedAtMs: 0, nowMs: 5, startableMs });
  expect([0, 1, 2].map((inFlight) => limiter.mayBegin(inFlight, 10))).toEqual([true, true, false]);
  expect(limiter.mayBegin(0, startableMs)).toBe(false);
});

test("the limiter wants as much as it could use, and renews its share before it lapses", () => {
  const limiter = new Limiter({ perSecond: null, maxConcurrency: 5 });
  limiter.takeGrant(granted({ requests: 2 }), { askedAtMs: 0, nowMs: 5, startableMs });
  expect(limiter.wishFor(1, 1)).toEqual({ permits: 0, requests: 2 });
  expect(limiter.wishFor(9, 1)).toEqual({ permits: 0, requests: 5 });
  expect(limiter.isShortOf(limiter.wishFor(1, 1), 10)).toBe(false);
  expect(limiter.isShortOf(limiter.wishFor(2, 1), 10)).toBe(true);
  expect(limiter.isShortOf(limiter.wishFor(1, 1), startableMs / 2)).toBe(true);
  expect(limiter.isShortOf({ permits: 0, requests: 0 }, startableMs)).toBe(false);
});

test("a limit that was removed in the database no longer delays attempts", () => {
  const limiter = new Limiter({ perSecond: 1, maxConcurrency: 1 });
  limiter.takeGrant(granted({}), { askedAtMs: 0, nowMs: 0, startableMs });
  expect(limiter.mayBegin(100, 0)).toBe(true);
});
