import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { centsOf, unitsOf } from "./ledger.ts";

describe("the price", () => {
  it.each([
    [0, 0, 0],
    [1, 1, 10],
    [1000, 1, 10],
    [1001, 2, 20],
    [2500, 3, 30],
  ])("of %d items is %d units and %d cents", (items, units, cents) => {
    expect([unitsOf(items), centsOf(items)]).toEqual([units, cents]);
  });

  it("counts a started unit as a whole one, and no more", () => {
    fc.assert(
      fc.property(fc.nat(10 ** 12), (items) => {
        expect(unitsOf(items) * 1000).toBeGreaterThanOrEqual(items);
        expect(unitsOf(items) * 1000).toBeLessThan(items + 1000);
      }),
    );
  });
});
