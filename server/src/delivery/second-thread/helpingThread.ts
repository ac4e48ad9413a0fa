import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Changes } from "../../items/changes.ts";
import type { Log } from "../../telemetry/log.ts";
import { type MetricValues, sumOfCounters } from "../../telemetry/metricsText.ts";
import type { HelpingThread } from "../dispatch/lending.ts";
import type { FromThread, ThreadInput, ToThread } from "./messages.ts";

/** The second thread of a process that sends: started when it is needed, and ended when it was not for a while. */
export interface Helper extends HelpingThread {
  /** What it has counted; nothing before it was needed. */
  metrics(): Promise<MetricValues[][]>;
  /** Ends when it has finished what it had under way. */
  stop(): Promise<void>;
}

export interface HelperDeps {
  log: Log;
  /** Told in numbers of what the thread has done. */
  changes: Pick<Changes, "count">;
}

/** How long a thread that failed is not started again. */
const restartPauseMs = 10_000;
/** How long a thread without a loan is kept: a new one has to be compiled anew while it sends. */
const keptIdleMs = 60_000;
/** How long `/metrics` waits for a thread that is busy. */
const metricsLimitMs = 1_000;

/** @param input What the thread is given. @param idleMs How long it is kept without a loan. */
export function createHelper(input: ThreadInput, deps: HelperDeps, idleMs: number = keptIdleMs): Helper {
  return new Thread(input, deps, idleMs);
}

class Thread implements Helper {
  readonly #input: ThreadInput;
  readonly #log: Log;
  readonly #changes: HelperDeps["changes"];
  /** What to do when a target comes back. */
  readonly #loans = new Map<string, () => void>();
  readonly #idleMs: number;
  #worker: Worker | undefined;
  #ended: Promise<void> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;
  /** The worker has been told to stop. */
  #isEnding = false;
  /** The process stops, and no worker is started any more. */
  #isStopping = false;
  #startableAtMs = 0;
  /** What ended threads have counted, so that sums never fall; and the last answer of this one. */
  #past: Promise<MetricValues[][]> = Promise.resolve([]);
  #values: MetricValues[] | undefined;
  #answer: PromiseWithResolvers<void> | undefined;

  constructor(input: ThreadInput, { log, changes }: HelperDeps, idleMs: number) {
    this.#input = input;
    this.#log = log;
    this.#changes = changes;
    this.#idleMs = idleMs;
  }

  isAvailable(): boolean {
    return !this.#isStopping && !this.#isEnding && performance.now() >= this.#startableAtMs;
  }

  help(targetId: string, requests: number, ended: () => void): void {
    // A loan that was waiting when the process was told to stop.
    if (this.#isStopping) {
      ended();
      return;
    }
    clearTimeout(this.#idleTimer);
    this.#loans.set(targetId, ended);
    this.#tell({ say: "borrow", targetId, requests });
  }

  async metrics(): Promise<MetricValues[][]> {
    if (this.#worker !== undefined) {
      if (this.#answer === undefined) {
        this.#answer = Promise.withResolvers();
        this.#tell({ say: "metrics" });
      }
      const limit = new Promise<void>((resolve) => setTimeout(resolve, metricsLimitMs).unref());
      await Promise.race([this.#answer.promise, limit]);
    }
    const past = await this.#past;
    return this.#values === undefined ? past : [...past, this.#values];
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#endThread();
    await this.#ended;
  }

  #endThread(): void {
    clearTimeout(this.#idleTimer);
    if (this.#worker === undefined || this.#isEnding) return;
    this.#isEnding = true;
    this.#tell({ say: "stop" });
  }

  #tell(message: ToThread): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(message);
  }

  #start(): Worker {
    // Compiled, this file has another extension, and so has the thread's.
    const entry = new URL(`./run${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(entry, { workerData: this.#input, name: "postrider-helper" });
    worker.on("message", (message: FromThread) => this.#hear(message));
    worker.on("error", (error) => this.#log.error({ err: error }, "the helping thread failed"));
    this.#ended = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#gone();
        resolve();
      });
    });
    return worker;
  }

  #hear(message: FromThread): void {
    switch (message.say) {
      case "lines":
        this.#log.lines(message.text);
        break;
      case "counts":
        for (const [targetId, counts] of message.counts) this.#changes.count(targetId, counts);
        break;
      case "metrics":
        this.#values = message.values;
        this.#answer?.resolve();
        this.#answer = undefined;
        break;
      case "ended":
        this.#end(message.targetId);
        break;
    }
  }

  #end(targetId: string): void {
    const ended = this.#loans.get(targetId);
    this.#loans.delete(targetId);
    clearTimeout(this.#idleTimer);
    if (this.#loans.size === 0) this.#idleTimer = setTimeout(() => this.#endThread(), this.#idleMs).unref();
    ended?.();
  }

  /** What it had leased becomes due when the leases lapse. */
  #gone(): void {
    this.#worker = undefined;
    if (!this.#isEnding) this.#startableAtMs = performance.now() + restartPauseMs;
    this.#isEnding = false;
    const values = this.#values;
    if (values !== undefined)
      this.#past = this.#past.then(async (past) => [await sumOfCounters([...past, values])]);
    this.#values = undefined;
    this.#answer?.resolve();
    this.#answer = undefined;
    for (const targetId of this.#loans.keys()) this.#end(targetId);
    clearTimeout(this.#idleTimer);
  }
}
