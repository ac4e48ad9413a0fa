import fc from "fast-check";
import { expect, test } from "vitest";
import { addLatencies, type LatencyCounts, latencyRange, percentiles } from "./latencyRanges.ts";

function countsOf(latencies: readonly number[]): LatencyCounts {
  return addLatencies([nothing, ...latencies.map((one) => ({ ranges: [latencyRange(one)], counts: [1] }))]);
}

const nothing: LatencyCounts = { ranges: [], counts: [] };

const latency = fc.integer({ min: 0, max: 40 * 86_400_000 });

test("a percentile differs from the exact one by at most a twentieth and half a millisecond", () => {
  fc.assert(
    fc.property(
      fc.array(latency, { minLength: 1 }),
      fc.constantFrom(0.5, 0.95, 0.99, 1),
      (latencies, part) => {
        const sorted = latencies.toSorted((a, b) => a - b);
        const exact = sorted[Math.ceil(sorted.length * part) - 1]!;
        const [found] = percentiles(countsOf(latencies), [part]) as [number];
        expect(Math.abs(found - exact)).toBeLessThanOrEqual((exact + 1) / 20 + 0.5);
      },
    ),
  );
});

test("ranges ascend with the latency, from 0 to 256", () => {
  fc.assert(
    fc.property(latency, latency, (one, other) => {
      expect(
        Math.sign(latencyRange(one) - latencyRange(other)) * Math.sign(one - other),
      ).toBeGreaterThanOrEqual(0);
    }),
  );
  expect([-5, 0, 1, 2 ** 40].map(latencyRange)).toEqual([0, 0, 8, 256]);
});

test("several percentiles ascend", () => {
  fc.assert(
    fc.property(fc.array(latency, { minLength: 1 }), (latencies) => {
      const found = percentiles(countsOf(latencies), [0.5, 0.95, 0.99])!;
      expect(found).toHaveLength(3);
      expect(found).toEqual(found.toSorted((a, b) => a - b));
    }),
  );
});

test("without any count there are no percentiles", () => {
  expect(percentiles(nothing, [0.5])).toBeNull();
});
