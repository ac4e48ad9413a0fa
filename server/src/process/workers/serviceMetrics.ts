import { Counter, Registry } from "prom-client";
import { within } from "../../runtime/within.ts";
import { type MetricValues, sumOfCounters } from "../../telemetry/metricsText.ts";
import { gaugesOn } from "../../telemetry/processMetrics.ts";

/** How long a worker may take to send its metrics; after that its last known ones are used. */
const limitMs = 1_000;

/** Reads the metrics of one worker over its channel. */
export class WorkerMetrics {
  readonly #ask: (id: number) => void;
  readonly #waiting = new Map<number, (values: MetricValues[]) => void>();
  #last: MetricValues[] = [];
  #ids = 0;

  constructor(ask: (id: number) => void) {
    this.#ask = ask;
  }

  /** The last metrics that the worker has sent. */
  last(): MetricValues[] {
    return this.#last;
  }

  /** The worker's current metrics; the last known ones if it does not answer in time. */
  async present(): Promise<MetricValues[]> {
    const id = ++this.#ids;
    const answer = Promise.withResolvers<MetricValues[]>();
    this.#waiting.set(id, answer.resolve);
    this.#ask(id);
    const values = await within(limitMs, answer.promise, undefined);
    this.#waiting.delete(id);
    return values ?? this.#last;
  }

  /** Stores metrics that the worker has sent. @param id of the request that they answer. */
  note(values: MetricValues[], id?: number): void {
    this.#last = values;
    if (id !== undefined) this.#waiting.get(id)?.(values);
  }

  /** Answers waiting requests with the last known metrics, because the worker has ended. */
  end(): void {
    for (const answer of this.#waiting.values()) answer(this.#last);
  }
}

/** Metrics that the supervisor adds to those of running workers: the counts of workers that have ended, and its own. */
export class ServiceMetrics {
  readonly #own = new Registry();
  readonly #deaths: Counter;
  /** Summed counters of ended workers. Sums run one after the other, because many series take long. */
  #past: Promise<MetricValues[]> = Promise.resolve([]);

  constructor(serving: () => number) {
    const gauge = gaugesOn(this.#own);
    gauge("postrider_processes", "Processes that serve, of POSTRIDER_PROCESSES.", serving);
    this.#deaths = new Counter({
      name: "postrider_process_deaths_total",
      help: "Processes that ended unexpectedly.",
      registers: [this.#own],
    });
  }

  died(): void {
    this.#deaths.inc();
  }

  /** Adds the counters of an ended worker, so that the service's counters never decrease. */
  keep(last: MetricValues[]): void {
    this.#past = this.#past.then((past) => sumOfCounters([past, last]));
  }

  /** All metrics except those of the worker that asks. @param others the other workers. */
  async beside(others: readonly WorkerMetrics[]): Promise<MetricValues[][]> {
    // Read before the workers answer: the answers include a worker that ends now, so a later sum would count it twice.
    const past = this.#past;
    const present = await Promise.all(others.map((worker) => worker.present()));
    return [...present, await past, await this.#own.getMetricsAsJSON()];
  }
}
