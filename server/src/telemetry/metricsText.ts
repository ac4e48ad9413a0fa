import { AggregatorRegistry, type Registry } from "prom-client";

/** A metric with its values, as it goes from one registry to another. */
export type MetricValues = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

/** Prometheus' text of a registry; values that other registries have under the same names are added. */
export async function metricsText(
  registry: Registry,
  others: readonly (readonly MetricValues[])[],
): Promise<string> {
  return (await withOthers(registry, others)).metrics();
}

/** The same as values. */
export async function metricValues(
  registry: Registry,
  others: readonly (readonly MetricValues[])[],
): Promise<MetricValues[]> {
  return (await withOthers(registry, others)).getMetricsAsJSON();
}

async function withOthers(
  registry: Registry,
  others: readonly (readonly MetricValues[])[],
): Promise<Pick<Registry, "metrics" | "getMetricsAsJSON">> {
  if (others.length === 0) return registry;
  const added = new Set(others.flat().map(({ name }) => name));
  const own = await registry.getMetricsAsJSON();
  for (const metric of own) {
    // One of the process alone is not to be summed, or left out, for want of a second one.
    if (!added.has(metric.name)) metric.aggregator = "first";
  }
  return AggregatorRegistry.aggregate([own, ...others]);
}

/** The sums of counters and histograms; what gauges showed has passed. */
export async function sumOfCounters(parts: readonly (readonly MetricValues[])[]): Promise<MetricValues[]> {
  const sums = await AggregatorRegistry.aggregate([...parts]).getMetricsAsJSON();
  return sums.filter(({ type }) => String(type) !== "gauge");
}
