import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { sumOf, sumOfCounters } from "./metricsText.ts";

/** A registry with a metric of each type, each with the value `count`. */
function registryWith(count: number): Registry {
  const registry = new Registry();
  const registers = [registry];
  const some = new Counter({ name: "some_total", help: "Some.", labelNames: ["kind"], registers });
  for (const kind of ["a", "b"]) some.inc({ kind }, count);
  new Gauge({ name: "now", help: "Now.", registers }).set(count);
  const plain = new Histogram({ name: "plain_seconds", help: "Plain.", buckets: [1, 10], registers });
  const options = { name: "labelled_seconds", help: "Labelled.", buckets: [1], registers };
  const labelled = new Histogram({ ...options, labelNames: ["route"] });
  for (let n = 0; n < count; n++) {
    plain.observe(5);
    labelled.observe({ route: `/${n % 2}` }, 0.5);
  }
  return registry;
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

test("the values of several registries are added up", async () => {
  const registries = [registryWith(2), registryWith(3), registryWith(4)];
  const values = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  const text = await sumOf(structuredClone(values)).metrics();
  expect(lines(text)).toEqual(lines(await registryWith(9).metrics()));
});

test("metrics that only the first registry has are unchanged", async () => {
  const registry = registryWith(1);
  collectDefaultMetrics({ register: registry });
  const names = (text: string): string[] => lines(text).filter((line) => line.startsWith("# TYPE"));
  const alone = await registry.metrics();
  const parts = await Promise.all([registry, registryWith(1)].map((one) => one.getMetricsAsJSON()));
  const together = await sumOf(parts).metrics();
  expect(names(together)).toEqual(names(alone));
  const started = /^process_start_time_seconds \d+$/m;
  expect(started.exec(together)![0]).toBe(started.exec(alone)![0]);
});

test("values that every process reads from one database are not summed over processes", async () => {
  const parts = await Promise.all(
    [3, 5].map((value) => {
      const registry = new Registry();
      const registers = [registry];
      new Gauge({ name: "in_memory", help: "Of one.", registers }).set(value);
      new Gauge({ name: "in_database", help: "Of all.", aggregator: "max", registers }).set(value);
      collectDefaultMetrics({ register: registry });
      return registry.getMetricsAsJSON();
    }),
  );
  const text = await sumOf(structuredClone(parts)).metrics();
  expect(text).toMatch(/^in_memory 8$/m);
  expect(text).toMatch(/^in_database 5$/m);
  expect(text).toMatch(/^process_start_time_seconds \d{10}(?:\.\d+)?$/m);
});

test("only counters and histograms of removed registries remain", async () => {
  const values = await Promise.all([3, 4].map((count) => registryWith(count).getMetricsAsJSON()));
  const whole = await registryWith(7).getMetricsAsJSON();
  const sums = await sumOfCounters(values);
  expect(sums.map(({ name }) => name)).not.toContain("now");
  // A sum has no exemplars; those of the registry itself are null.
  expect(whole.filter(({ name }) => name !== "now")).toMatchObject(sums);
});
