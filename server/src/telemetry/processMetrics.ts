import { collectDefaultMetrics, type Metric, Registry } from "prom-client";

/** Gauges that end like counters, which `promtool check metrics` refuses; the same without the end are there, by type. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** How often the lag of the event loop is sampled. Each sample wakes the process, which 10 ms made a third of its wake-ups when idle. */
const lagEveryMs = 100;

let measured: Registry | undefined;

/**
 * Adds what the library says of the process. It is measured once, whatever registries there are: each measuring would start a
 * timer and an observer of collections, which nothing ends.
 */
export function registerProcessMetrics(registry: Registry): void {
  if (measured === undefined) {
    measured = new Registry();
    collectDefaultMetrics({ register: measured, eventLoopMonitoringPrecision: lagEveryMs });
    for (const name of misnamed) measured.removeSingleMetric(name);
  }
  for (const metric of measured.getMetricsAsArray()) registry.registerMetric(metric as unknown as Metric);
}
