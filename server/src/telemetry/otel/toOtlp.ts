import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
} from "@opentelemetry/sdk-metrics";
import type { MetricValues } from "../metricsText.ts";

interface Value {
  value: number;
  labels: Partial<Record<string, string | number>>;
  metricName?: string;
}

/** Converts the metrics of `/metrics` to OpenTelemetry's form: the same names, labels and values, since `startedMs`. */
export function toOtlp(metrics: readonly MetricValues[], startedMs: number): MetricData[] {
  const span = { startTime: hrTime(startedMs), endTime: hrTime(Date.now()) };
  return metrics.map((metric): MetricData => {
    const values = metric.values as Value[];
    const common = {
      descriptor: { name: metric.name, description: metric.help, unit: "", valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    switch (String(metric.type)) {
      case "counter":
        return {
          ...common,
          dataPointType: DataPointType.SUM,
          isMonotonic: true,
          dataPoints: plain(values, span),
        };
      case "histogram":
        return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, span) };
      default:
        return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: plain(values, span) };
    }
  });
}

type Interval = Pick<DataPoint<number>, "startTime" | "endTime">;

function plain(values: readonly Value[], interval: Interval): DataPoint<number>[] {
  return values.map(({ value, labels }) => ({ ...interval, attributes: attributesOf(labels), value }));
}

/** Converts histograms. Prometheus' buckets are cumulative, and each bucket, sum and count is a value of its own. */
function histograms(values: readonly Value[], interval: Interval): DataPoint<Histogram>[] {
  const points = new Map<string, DataPoint<Histogram>>();
  for (const { value, labels, metricName = "" } of values) {
    const { le, ...own } = labels;
    const name = JSON.stringify(own);
    let point = points.get(name);
    if (point === undefined) {
      const empty: Histogram = { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 };
      points.set(name, (point = { ...interval, attributes: attributesOf(own), value: empty }));
    }
    const { buckets } = point.value;
    if (metricName.endsWith("_sum")) point.value.sum = value;
    else if (metricName.endsWith("_count")) point.value.count = value;
    else {
      if (le !== "+Inf") buckets.boundaries.push(Number(le));
      buckets.counts.push(value);
    }
  }
  for (const { value } of points.values()) countApart(value);
  return [...points.values()];
}

function countApart({ buckets: { counts } }: Histogram): void {
  for (let index = counts.length - 1; index > 0; index--) counts[index]! -= counts[index - 1]!;
}

function attributesOf(labels: Value["labels"]): Attributes {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== undefined));
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1_000_000)];
}
