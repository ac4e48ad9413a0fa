import { AggregatorRegistry, type Registry } from "prom-client";

/** A metric with its values, in the form that is passed between registries. */
export type MetricValues = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

/**
 * A registry with the metrics of several registries or processes. Values with equal names and labels are summed, unless the
 * metric's `aggregator` says otherwise, such as `max` for values that every process reads from the same database.
 */
export function sumOf(parts: readonly (readonly MetricValues[])[]): Registry {
  for (const metric of parts.flat()) {
    // prom-client omits the process's start time, because it cannot be summed. Here it is that of the process that started last.
    if (metric.aggregator === "omit") metric.aggregator = "max";
  }
  return AggregatorRegistry.aggregate([...parts]);
}

/** The sums of counters and histograms, without gauges, whose values are outdated. */
export async function sumOfCounters(parts: readonly (readonly MetricValues[])[]): Promise<MetricValues[]> {
  const sums = await sumOf(parts).getMetricsAsJSON();
  return sums.filter(({ type }) => String(type) !== "gauge");
}
