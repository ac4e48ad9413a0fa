import { Counter, Registry } from "prom-client";
import { within } from "../../runtime/within.ts";
import { type MetricValues, sumOfCounters } from "../../telemetry/metricsText.ts";
import { gaugesOn } from "../../telemetry/processMetrics.ts";

/** How long a worker may take to tell its metrics; after that its last ones stand. */
const limitMs = 1_000;

/** A worker's metrics, as they are asked for over its channel. */
export class WorkerMetrics {
  readonly #ask: (id: number) => void;
  readonly #waiting = new Map<number, (values: MetricValues[]) => void>();
  #last: MetricValues[] = [];
  #ids = 0;

  constructor(ask: (id: number) => void) {
    this.#ask = ask;
  }

  /** The worker's last metrics that are known here. */
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

  /** The worker has told them. */
  note(values: MetricValues[], id?: number): void {
    this.#last = values;
    if (id !== undefined) this.#waiting.get(id)?.(values);
  }

  /** The worker has ended and answers no more. */
  end(): void {
    for (const answer of this.#waiting.values()) answer(this.#last);
  }
}

/** Metrics that the supervisor adds to those of running workers: the counts of workers that have ended, and its own. */
export class ServiceMetrics {
  readonly #own = new Registry();
  readonly #deaths: Counter;
  /** One after the other, because a sum of many series takes its time. */
  #past: Promise<MetricValues[]> = Promise.resolve([]);

  constructor(serving: () => number) {
    const gauge = gaugesOn(this.#own);
    gauge("postrider_processes", "Processes that serve, of POSTRIDER_PROCESSES.", serving);
    this.#deaths = new Counter({
      name: "postrider_process_deaths_total",
      help: "Processes that ended unasked.",
      registers: [this.#own],
    });
  }

  died(): void {
    this.#deaths.inc();
  }

  /** Keeps what an ended worker has counted, so that sums never fall. */
  keep(last: MetricValues[]): void {
    this.#past = this.#past.then((past) => sumOfCounters([past, last]));
  }

  /** All metrics beside those of the worker that asks. @param others the other workers. */
  async beside(others: readonly WorkerMetrics[]): Promise<MetricValues[][]> {
    // Read before the answers: a worker that ends meanwhile is counted in them, and would be counted twice with a later past.
    const past = this.#past;
    const present = await Promise.all(others.map((worker) => worker.present()));
    return [...present, await past, await this.#own.getMetricsAsJSON()];
  }
}
