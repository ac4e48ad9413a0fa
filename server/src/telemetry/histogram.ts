import { Histogram, type MetricValueWithName, type Registry } from "prom-client";

export interface HistogramOptions {
  name: string;
  help: string;
  /** Upper bounds, ascending. */
  buckets: readonly number[];
  registry: Registry;
}

/** One line of observations in a histogram: all of it, or what has one value of its label. */
export interface Series {
  observe(value: number): void;
}

/** Registers a histogram without labels. */
export function createHistogram(options: HistogramOptions): Series {
  return new PlainHistogram(options, undefined).series("");
}

/** Registers a histogram with one label; gives the series of a label's value. */
export function createLabelledHistogram(options: HistogramOptions, label: string): (value: string) => Series {
  const histogram = new PlainHistogram(options, label);
  return (value) => histogram.series(value);
}

/**
 * A histogram that counts in plain arrays and makes the registry's form of them when `/metrics` is read: an
 * observation of the registry's own costs as much as a log line.
 */
class PlainHistogram extends Histogram {
  readonly #options: HistogramOptions;
  readonly #label: string | undefined;
  readonly #series = new Map<string, CountedSeries>();

  constructor(options: HistogramOptions, label: string | undefined) {
    const { name, help, buckets, registry } = options;
    super({ name, help, buckets: [...buckets], labelNames: label ? [label] : [], registers: [registry] });
    this.#options = options;
    this.#label = label;
  }

  series(value: string): CountedSeries {
    let series = this.#series.get(value);
    if (series === undefined) {
      series = new CountedSeries(this.#options.buckets);
      this.#series.set(value, series);
    }
    return series;
  }

  /** The registry's other forms. */
  override get(): ReturnType<Histogram["get"]> {
    return this.getForPromString() as ReturnType<Histogram["get"]>;
  }

  /** What the registry reads for its text. Not part of the registry's types. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.#options;
    const values: MetricValueWithName<string>[] = [];
    for (const [value, series] of this.#series) {
      values.push(...series.lines(name, this.#label ? { [this.#label]: value } : {}));
    }
    return { name, help, type: "histogram", aggregator: "sum", values };
  }
}

class CountedSeries implements Series {
  readonly #bounds: readonly number[];
  /** By bucket, the last for what is above all bounds. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += value;
  }

  /** In the order of the exposition format: cumulative buckets, sum, count. */
  lines(name: string, labels: Record<string, string>): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = this.#counts.map((inBucket, index) => {
      count += inBucket;
      const le = this.#bounds[index] ?? "+Inf";
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
