import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cardRetryMs, freshForMs } from "./examineCard.ts";

const minute = 60_000;

describe("the time for which a card is fresh", () => {
  it.each([
    [{}, 60 * minute],
    [{ "cache-control": "public, max-age=3600" }, 60 * minute],
    [{ "cache-control": "max-age=3600", age: "1800" }, 30 * minute],
    [{ "cache-control": "max-age=1" }, 5 * minute],
    [{ "cache-control": "max-age=3600", age: "9999" }, 5 * minute],
    [{ "cache-control": "MAX-AGE=999999999999" }, 24 * 60 * minute],
    [{ "cache-control": "no-cache" }, 5 * minute],
    [{ "cache-control": "no-store, max-age=3600" }, 5 * minute],
    [{ "cache-control": "max-age=soon" }, 60 * minute],
  ])("%j", (headers, expected) => {
    expect(freshForMs(headers)).toBe(expected);
  });

  it("is always between five minutes and a day", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (cacheControl, age) => {
        const freshMs = freshForMs({ "cache-control": cacheControl, age });
        expect(freshMs).toBeGreaterThanOrEqual(5 * minute);
        expect(freshMs).toBeLessThanOrEqual(24 * 60 * minute);
      }),
    );
  });
});

it("a failed read is retried after one minute, then less often, at least every hour", () => {
  expect([1, 2, 3, 7, 1_000].map(cardRetryMs)).toEqual([
    minute,
    2 * minute,
    4 * minute,
    60 * minute,
    60 * minute,
  ]);
});
