import { Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { createHistogram, createLabelledHistogram } from "./histogram.ts";

const buckets = [0.1, 1, 10];
const values = [0, 0.05, 0.1, 0.5, 1, 1.5, 10, 11, 1000];

test("a histogram reads as the registry's own would", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const options = { name: "some_seconds", help: "Some.", buckets };
  const series = createHistogram({ ...options, registry: ours });
  const own = new Histogram({ ...options, registers: [theirs] });
  expect(await ours.metrics()).toBe(await theirs.metrics());
  for (const value of values) {
    series.observe(value);
    own.observe(value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
});

test("a histogram with a label has a series for each of its values", async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const options = { name: "some_seconds", help: "Some.", buckets };
  const seriesOf = createLabelledHistogram({ ...options, registry: ours }, "route");
  const own = new Histogram({ ...options, labelNames: ["route"], registers: [theirs] });
  for (const [index, value] of values.entries()) {
    const route = index % 2 === 0 ? "/a" : '/"b"';
    seriesOf(route).observe(value);
    own.observe({ route }, value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
  // Theirs has exemplars besides, which are null.
  expect(await theirs.getMetricsAsJSON()).toMatchObject(await ours.getMetricsAsJSON());
});
