import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addMonths, periodBounds, periodOf } from "./ledger.ts";

const moments = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2199, 11) });

describe("a period", () => {
  it("is a UTC month, from its first second to the first second of the next", () => {
    expect(periodOf(Date.UTC(2026, 10, 30, 23, 59, 59, 999))).toBe(202611);
    expect(periodOf(Date.UTC(2026, 11, 1))).toBe(202612);
    expect(periodBounds(202612)).toEqual({
      startSeconds: Date.UTC(2026, 11, 1) / 1000,
      endSeconds: Date.UTC(2027, 0, 1) / 1000,
    });
  });

  it("contains each moment that `periodOf` assigns to it within its bounds", () => {
    fc.assert(
      fc.property(moments, (timeMs) => {
        const { startSeconds, endSeconds } = periodBounds(periodOf(timeMs));
        expect(timeMs).toBeGreaterThanOrEqual(startSeconds * 1000);
        expect(timeMs).toBeLessThan(endSeconds * 1000);
      }),
    );
  });

  it("begins where the previous one ends", () => {
    fc.assert(
      fc.property(moments, fc.integer({ min: -40, max: 40 }), (timeMs, months) => {
        const period = periodOf(timeMs);
        expect(periodBounds(addMonths(period, 1)).startSeconds).toBe(periodBounds(period).endSeconds);
        expect(addMonths(addMonths(period, months), -months)).toBe(period);
      }),
    );
  });
});
