import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maxPoints, piecesOf, rangeOf, stepsKept } from "./steps.ts";

const day = 86_400;
const now = 1_793_500_123;

describe("the range of statistics", () => {
  it("is the last 24 hours by default, in whole steps", () => {
    expect(rangeOf({}, now)).toEqual({ from: 1_793_413_500, to: 1_793_500_200, step: 300 });
    expect(rangeOf({ step: 3600 }, now)).toEqual({ from: 1_793_412_000, to: 1_793_502_000, step: 3600 });
    expect(rangeOf({ to: now - day }, now)).toMatchObject({ from: 1_793_327_100, step: 300 });
  });

  it("has a step that suits its length and its age", () => {
    const stepOf = (from: number, to: number): number => rangeOf({ from, to }, now).step;
    expect(stepOf(now - 3600, now)).toBe(60);
    expect(stepOf(now - 2 * day, now - 2 * day + 3600)).toBe(300);
    expect(stepOf(now - 7 * day, now)).toBe(3600);
    expect(stepOf(now - 60 * day, now)).toBe(day);
    expect(stepOf(now - 300 * day, now - 299 * day)).toBe(day);
  });

  it.each([
    [{ from: now, to: now }, "from must be before to"],
    [{ from: now, to: now - 1 }, "from must be before to"],
    [{ from: now - 2 * day, step: 60 }, "step is too short"],
    [{ from: now - 9 * day, to: now - 8 * day, step: 300 }, "step is too short for this range"],
    [{ from: now, to: now + 4_000 * day }, "step is too short"],
    [{ from: 0, to: now }, "from is too long ago"],
  ] as const)("of %j is refused: %s", (asked, message) => {
    expect(() => rangeOf(asked, now)).toThrow(message);
  });

  it("has at most the allowed number of points, and all stored steps can be requested", () => {
    for (const { seconds: step, keptSeconds } of stepsKept) {
      const from = now - Math.min(keptSeconds, (maxPoints - 2) * step);
      expect(rangeOf({ from, step }, now).step).toBe(step);
    }
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 * day }),
        fc.integer({ min: 0, max: 90 * day }),
        (length, ago) => {
          const range = rangeOf({ from: now - ago - length, to: now - ago }, now);
          expect((range.to - range.from) / range.step).toBeLessThanOrEqual(maxPoints);
          expect(range.from).toBeLessThanOrEqual(now - ago - length);
          expect(range.to).toBeGreaterThanOrEqual(now - ago);
        },
      ),
    );
  });
});

it("a range is composed of few steps, without overlaps or gaps", () => {
  fc.assert(
    fc.property(
      // Days are the coarsest steps.
      fc.constantFrom(...stepsKept.map(({ seconds }) => seconds).filter((seconds) => seconds < 86_400)),
      fc.integer({ min: 1, max: maxPoints }),
      fc.integer({ min: 0, max: 100_000 }),
      (step, points, first) => {
        const range = { from: first * step, to: (first + points) * step, step };
        const pieces = piecesOf(range);
        const ends = pieces.map((piece) => piece.to);
        expect(pieces.map((piece) => piece.from)).toEqual([range.from, ...ends.slice(0, -1)]);
        expect(ends.at(-1)).toBe(range.to);
        for (const piece of pieces) expect([piece.from % piece.step, piece.to % piece.step]).toEqual([0, 0]);
        const steps = pieces.reduce((sum, piece) => sum + (piece.to - piece.from) / piece.step, 0);
        // At each end, the remainder is at most one coarse step.
        expect(steps).toBeLessThan(125 + 1_500 / 12);
      },
    ),
  );
});
