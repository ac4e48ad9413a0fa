import { AggregatorRegistry, type Registry } from "prom-client";

/** A metric with its values, in the form that is passed between registries. */
export type MetricValues = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

/** Returns a registry whose values include those that other registries have under the same names. */
export async function withOthers(
  registry: Registry,
  others: readonly (readonly MetricValues[])[],
): Promise<Pick<Registry, "metrics" | "getMetricsAsJSON">> {
  return others.length === 0 ? registry : sum([await registry.getMetricsAsJSON(), ...others]);
}

/**
 * The metrics of several processes in Prometheus' text format. Values with equal names and labels are summed, unless the
 * metric's `aggregator` says otherwise, such as `max` for values that every process reads from the same database.
 */
export function sumText(parts: readonly (readonly MetricValues[])[]): Promise<string> {
  return sum(parts).metrics();
}

function sum(parts: readonly (readonly MetricValues[])[]): Registry {
  for (const metric of parts.flat()) {
    // prom-client omits the process's start time, because it cannot be summed. Here it is that of the process that started last.
    if (metric.aggregator === "omit") metric.aggregator = "max";
  }
  return AggregatorRegistry.aggregate([...parts]);
}

/** The sums of counters and histograms, without gauges, whose values are outdated. */
export async function sumOfCounters(parts: readonly (readonly MetricValues[])[]): Promise<MetricValues[]> {
  const sums = await sum(parts).getMetricsAsJSON();
  return sums.filter(({ type }) => String(type) !== "gauge");
}
