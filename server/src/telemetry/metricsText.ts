import { AggregatorRegistry, type Registry } from "prom-client";

/** A metric with its values, as it goes from one registry to another. */
export type MetricValues = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

/** A registry; with values that other registries have under the same names they are added, in another one. */
export async function withOthers(
  registry: Registry,
  others: readonly (readonly MetricValues[])[],
): Promise<Pick<Registry, "metrics" | "getMetricsAsJSON">> {
  return others.length === 0 ? registry : sum([await registry.getMetricsAsJSON(), ...others]);
}

/**
 * Prometheus' text of several processes' metrics. Values of equal names and labels are summed, unless the metric's `aggregator` says
 * otherwise: `max` for what every process reads from the same database.
 */
export function sumText(parts: readonly (readonly MetricValues[])[]): Promise<string> {
  return sum(parts).metrics();
}

function sum(parts: readonly (readonly MetricValues[])[]): Registry {
  for (const metric of parts.flat()) {
    // prom-client leaves the time of the start out, because it is no amount. Here it is that of the process that started last.
    if (metric.aggregator === "omit") metric.aggregator = "max";
  }
  return AggregatorRegistry.aggregate([...parts]);
}

/** The sums of counters and histograms; what gauges showed has passed. */
export async function sumOfCounters(parts: readonly (readonly MetricValues[])[]): Promise<MetricValues[]> {
  const sums = await sum(parts).getMetricsAsJSON();
  return sums.filter(({ type }) => String(type) !== "gauge");
}
