import fc from "fast-check";
import { expect, test } from "vitest";
import type { PermitGrant } from "../rows/permits.ts";
import { begin, createPace, dropLate, isWanting, mayBegin, nextBeginMs, takeGrant, wishOf } from "./pace.ts";

const startableMs = 14_000;

function granted(grant: Partial<PermitGrant>): PermitGrant {
  return { targetId: "t", permits: 0, firstInMs: 0, intervalMs: null, burst: 1, requests: null, ...grant };
}

test("permits are used in their order, none before its moment, and what is past may begin at once", () => {
  const pace = createPace({ perSecond: 10, maxConcurrency: null });
  expect(mayBegin(pace, 0, 0)).toBe(false);
  expect(nextBeginMs(pace)).toBe(Number.POSITIVE_INFINITY);
  const grant = granted({ permits: 4, firstInMs: -100, intervalMs: 100, burst: 2 });
  takeGrant(pace, grant, { askedAtMs: 990, nowMs: 1_000, startableMs });
  expect(pace.permits).toEqual([1_000, 1_000, 1_100, 1_200]);
  for (const nowMs of [1_000, 1_000]) {
    expect(mayBegin(pace, 0, nowMs)).toBe(true);
    begin(pace, nowMs);
  }
  expect(mayBegin(pace, 0, 1_099)).toBe(false);
  expect(nextBeginMs(pace)).toBe(1_100);
  expect(mayBegin(pace, 0, 1_100)).toBe(true);
});

test("a permit is lost when it was not used in time", () => {
  const pace = createPace({ perSecond: 10, maxConcurrency: null });
  takeGrant(pace, granted({ permits: 3, intervalMs: 100 }), { askedAtMs: 0, nowMs: 0, startableMs });
  dropLate(pace, 250);
  expect(pace.permits).toHaveLength(3);
  dropLate(pace, 351);
  expect(pace.permits).toEqual([200]);
  expect(wishOf(pace, 5, 0)).toEqual({ permits: 4, requests: 0 });
});

test("what is late is made up for at a tenth more than the rate", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 1, max: 20 }),
      (steps, burst) => {
        const intervalMs = 10;
        const pace = createPace({ perSecond: 100, maxConcurrency: null });
        const begun: number[] = [];
        let nowMs = 0;
        let firstInMs = 0;
        for (const step of steps) {
          nowMs += step;
          dropLate(pace, nowMs);
          const permits = 30;
          const atMs = Math.max(firstInMs, nowMs);
          takeGrant(pace, granted({ permits, firstInMs: atMs - nowMs, intervalMs, burst }), {
            askedAtMs: nowMs,
            nowMs,
            startableMs,
          });
          firstInMs = atMs + permits * intervalMs;
          while (mayBegin(pace, 0, nowMs)) {
            begin(pace, nowMs);
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

test("no more is under way than the share, and nothing begins on one that lapses", () => {
  const pace = createPace({ perSecond: null, maxConcurrency: 5 });
  expect(mayBegin(pace, 0, 0)).toBe(false);
  takeGrant(pace, granted({ requests: 2 }), { askedAtMs: 0, nowMs: 5, startableMs });
  expect([0, 1, 2].map((inFlight) => mayBegin(pace, inFlight, 10))).toEqual([true, true, false]);
  expect(mayBegin(pace, 0, startableMs)).toBe(false);
});

test("wants as much as it could use, and its share anew before it lapses", () => {
  const pace = createPace({ perSecond: null, maxConcurrency: 5 });
  takeGrant(pace, granted({ requests: 2 }), { askedAtMs: 0, nowMs: 5, startableMs });
  expect(wishOf(pace, 1, 1)).toEqual({ permits: 0, requests: 2 });
  expect(wishOf(pace, 9, 1)).toEqual({ permits: 0, requests: 5 });
  expect(isWanting(pace, wishOf(pace, 1, 1), 10)).toBe(false);
  expect(isWanting(pace, wishOf(pace, 2, 1), 10)).toBe(true);
  expect(isWanting(pace, wishOf(pace, 1, 1), startableMs / 2)).toBe(true);
  expect(isWanting(pace, { permits: 0, requests: 0 }, startableMs)).toBe(false);
});

test("a limit that the database does not know any more holds nothing back", () => {
  const pace = createPace({ perSecond: 1, maxConcurrency: 1 });
  takeGrant(pace, granted({}), { askedAtMs: 0, nowMs: 0, startableMs });
  expect(mayBegin(pace, 100, 0)).toBe(true);
});
