import type { TokenRange } from "../../items/item.ts";
import type { ProcessEnd } from "../../postgres/embedded/guardedProcess.ts";
import { within } from "../../runtime/within.ts";
import type { Log } from "../../telemetry/log.ts";
import type { FromWorker, Preparation } from "./messages.ts";
import { ServiceMetrics, WorkerMetrics } from "./serviceMetrics.ts";
import type { SharedPort } from "./sharedPort.ts";
import { firstSocketFd, type WorkerProcess } from "./workerProcess.ts";

export interface WorkersDeps {
  count: number;
  port: Pick<SharedPort, "fds" | "socketOf" | "release">;
  /** Starts a process that loads the service. */
  start: (hear: (message: FromWorker) => void) => WorkerProcess;
  /** Called when a process has ended that used these lease tokens; some of its leases may remain. */
  onEnded: (leases: TokenRange) => void;
  log: Pick<Log, "info" | "warn" | "error">;
}

type Serves = Extract<FromWorker, { say: "serves" }>;

interface Worker {
  process: WorkerProcess;
  metrics: WorkerMetrics;
  /** The number of its slot; undefined for the spare. */
  slot: number | undefined;
  /** When the slot became vacant, by `performance.now()`; undefined at the service's start. */
  vacantSinceMs: number | undefined;
  servesSinceMs: number | undefined;
  /** The range of its lease tokens; undefined before it serves. */
  leases: TokenRange | undefined;
  /** Whether its end is expected. */
  isLeaving: boolean;
  /** The worker's own message why it cannot start. */
  failure: string | undefined;
  /** Pings since its last message; -Infinity before its first one, because loading may take long. */
  unanswered: number;
}

/** How long after a start the spare is loaded, so that it does not slow down the first requests. */
const spareAfterMs = 1_000;
/** How long after the death of a spare the next one is started. The service does not need a spare, so it never ends for this. */
const spareRetryMs = 4_000;
/**
 * A worker that leaves this many pings in a row unanswered hangs. Pings are counted, and not the time: after a suspension of the
 * machine or of all processes, workers still have time to answer.
 */
const mostUnanswered = 12;
const pingEveryMs = 5_000;

/**
 * The processes of a service: a worker in each slot, and one loaded spare without a slot, which replaces the next worker that
 * dies. Without the spare, clients of the slot would wait most of a second for a new process to load.
 */
export class Workers {
  /** Resolves with the reason, a sentence, when the whole service has to end. */
  readonly failed: Promise<string>;
  readonly #deps: WorkersDeps;
  readonly #slots: (Worker | undefined)[];
  readonly #running = new Set<Worker>();
  readonly #metrics: ServiceMetrics;
  readonly #restartAfter: (servedMs: number) => number | undefined;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #allServe = Promise.withResolvers<{ isDashboardBuilt: boolean }>();
  readonly #fail: (reason: string) => void;
  #spare: Worker | undefined;
  #preparation: Preparation | undefined;
  #trouble: string | null = null;
  #rolesOf: (slot: number) => string[] = () => [];
  #hasStarted = false;
  #isStopping = false;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
    this.#slots = Array.from({ length: deps.count }, () => undefined);
    this.#restartAfter = createRestarts(deps.count);
    this.#metrics = new ServiceMetrics(() => this.#serving().length);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.failed = promise;
    this.#fail = resolve;
  }

  /** Starts the processes, which load the service while the database is being opened. */
  load(): void {
    for (const slot of this.#slots.keys()) this.#slots[slot] = this.#start(slot);
    this.#timers.add(setInterval(() => this.#endHanging(), pingEveryMs));
  }

  /** Lets all workers serve; resolves when they all do. Never resolves when one fails: see `failed`. */
  serve(
    preparation: Preparation,
    rolesOf: (slot: number) => string[],
  ): Promise<{ isDashboardBuilt: boolean }> {
    this.#preparation = preparation;
    this.#rolesOf = rolesOf;
    for (const { process } of this.#running) process.tell({ say: "prepare", ...preparation });
    for (const worker of this.#slots) if (worker !== undefined) this.#place(worker);
    return this.#allServe.promise;
  }

  /** Tells all present and later workers why the embedded database is away, for their answers; null when it is back. */
  tellTrouble(reason: string | null): void {
    this.#trouble = reason;
    for (const { process } of this.#running) process.tell({ say: "trouble", reason });
  }

  /**
   * Stops the workers one after the other. Each has an equal share of the first half of `limitMs` until the next is told to stop,
   * even if it still runs. Workers that still run at `limitMs` are killed.
   */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    const endMs = performance.now() + limitMs;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const worker of this.#running)
      if (worker.servesSinceMs === undefined) worker.process.kill("SIGKILL");
    for (const [slot, worker] of this.#slots.entries()) {
      if (worker === undefined) continue;
      // Now only the worker holds the socket, so the socket closes when the worker ends, and gets no connections afterwards.
      this.#deps.port.release(slot);
      worker.isLeaving = true;
      worker.process.tell({ say: "stop" });
      await within(limitMs / 2 / this.#slots.length, worker.process.ended, undefined);
    }
    const rest = [...this.#running];
    const allEnded = Promise.all(rest.map(({ process }) => process.ended));
    await within(endMs - performance.now(), allEnded, undefined);
    if (this.#running.size === 0) return;
    this.#deps.log.warn(
      { limit_ms: limitMs },
      "stopping took too long; the remaining deliveries are sent after their leases lapse",
    );
    for (const { process } of this.#running) process.kill("SIGKILL");
    await allEnded;
  }

  #serving(): Worker[] {
    return [...this.#running].filter(({ servesSinceMs }) => servesSinceMs !== undefined);
  }

  /** Kills workers whose event loop no longer runs: clients of their slot and their leases would wait. */
  #endHanging(): void {
    for (const worker of this.#running) {
      const { process, unanswered } = worker;
      if (unanswered === mostUnanswered) {
        this.#deps.log.error({ process: process.pid }, "a process of the service hangs; it is killed");
        process.kill("SIGKILL");
      }
      worker.unanswered++;
      process.tell({ say: "ping" });
    }
  }

  #start(slot: number | undefined): Worker {
    const process = this.#deps.start((message) => this.#hear(worker, message));
    const worker: Worker = {
      process,
      metrics: new WorkerMetrics((id) => process.tell({ say: "count", id })),
      slot,
      vacantSinceMs: undefined,
      servesSinceMs: undefined,
      leases: undefined,
      isLeaving: false,
      failure: undefined,
      unanswered: Number.NEGATIVE_INFINITY,
    };
    this.#running.add(worker);
    void process.ended.then((end) => this.#ended(worker, end));
    if (this.#preparation !== undefined) process.tell({ say: "prepare", ...this.#preparation });
    if (this.#trouble !== null) process.tell({ say: "trouble", reason: this.#trouble });
    return worker;
  }

  #place({ process, slot }: Worker): void {
    const { fds, socketOf } = this.#deps.port;
    const own = socketOf(slot!);
    process.tell({
      say: "serve",
      slot: slot!,
      fd: firstSocketFd + own,
      otherFds: [...fds.keys()].filter((index) => index !== own).map((index) => firstSocketFd + index),
      roles: this.#rolesOf(slot!),
    });
  }

  /** Gives a vacant slot to the spare, or to a new process if there is none. */
  #fill(slot: number, vacantSinceMs: number): void {
    const worker = this.#spare ?? this.#start(slot);
    this.#spare = undefined;
    Object.assign(worker, { slot, vacantSinceMs });
    this.#slots[slot] = worker;
    this.#place(worker);
  }

  #hear(worker: Worker, message: FromWorker): void {
    worker.unanswered = 0;
    switch (message.say) {
      case "serves":
        this.#serves(worker, message);
        break;
      case "stopping":
        this.#leaves(worker);
        break;
      case "failed":
        worker.failure = message.reason;
        break;
      case "overtaken":
        worker.isLeaving = true;
        this.#fail(message.reason);
        break;
      case "pong":
        break;
      case "counted":
        worker.metrics.note(message.values, message.id);
        break;
      case "counted last":
        worker.metrics.note(message.values);
        break;
      case "count all":
        worker.metrics.note(message.values);
        void this.#countAll(worker, message.id);
        break;
    }
  }

  async #countAll(asker: Worker, id: number): Promise<void> {
    const others = this.#serving().filter((worker) => worker !== asker);
    const values = await this.#metrics.beside(others.map(({ metrics }) => metrics));
    asker.process.tell({ say: "counted all", id, values });
  }

  #serves(worker: Worker, { isDashboardBuilt, leases }: Serves): void {
    worker.servesSinceMs = performance.now();
    worker.leases = leases;
    if (worker.vacantSinceMs !== undefined) {
      const afterMs = Math.round(worker.servesSinceMs - worker.vacantSinceMs);
      this.#deps.log.info({ process: worker.process.pid, after_ms: afterMs }, "another process serves");
    }
    if (this.#slots.some((one) => one?.servesSinceMs === undefined)) return;
    this.#hasStarted = true;
    this.#allServe.resolve({ isDashboardBuilt });
    this.#after(spareAfterMs, () => this.#loadSpare());
  }

  #loadSpare(): void {
    this.#spare ??= this.#start(undefined);
  }

  /**
   * Replaces a worker that got a signal of its own, at once, because its graceful stop may take long. A spare has nothing to
   * finish.
   */
  #leaves(worker: Worker): void {
    if (worker.isLeaving) return;
    worker.isLeaving = true;
    if (this.#isStopping) return;
    if (worker.slot !== undefined) return this.#fill(worker.slot, performance.now());
    worker.process.kill("SIGKILL");
    this.#spare = this.#start(undefined);
  }

  #ended(worker: Worker, end: ProcessEnd): void {
    const nowMs = performance.now();
    const { servesSinceMs, slot, process, failure } = worker;
    this.#running.delete(worker);
    worker.metrics.end();
    this.#metrics.keep(worker.metrics.last());
    if (this.#spare === worker) this.#spare = undefined;
    if (this.#isStopping) return;
    if (worker.leases !== undefined) this.#deps.onEnded(worker.leases);
    if (worker.isLeaving) return;
    const how = end.signal ?? (end.code === null ? "the operating system" : `code ${end.code}`);
    if (!this.#hasStarted) {
      this.#fail(failure ?? `a process of the service ended before it served (${how})`);
      return;
    }
    this.#metrics.died();
    const why = failure === undefined ? "" : `: ${failure}`;
    const said = { process: process.pid, ended_by: how };
    if (slot === undefined) {
      this.#deps.log.error(said, `the spare process ended unexpectedly; another is started${why}`);
      this.#after(spareRetryMs, () => this.#loadSpare());
      return;
    }
    const afterMs = this.#restartAfter(servesSinceMs === undefined ? 0 : nowMs - servesSinceMs);
    if (afterMs === undefined) {
      this.#fail(
        `${mostQuickDeaths(this.#deps.count)} processes in a row ended within ${quickDeathMs / 1_000} s of their start, the last one by ${how}${why}`,
      );
      return;
    }
    this.#deps.log.error(said, `a process of the service ended unexpectedly; another takes its place${why}`);
    this.#after(afterMs, () => this.#fill(slot, nowMs));
  }

  #after(delayMs: number, act: () => void): void {
    if (this.#isStopping) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, delayMs);
    this.#timers.add(timer);
  }
}

/** The death of a worker that served for less than this counts as quick. */
export const quickDeathMs = 5_000;
/** Delay before each replacement in a row of quick deaths, which gives a machine that is short of memory time to recover. */
const delaysMs = [0, 0, 250, 1_000, 4_000];

/**
 * The service ends after this many quick deaths in a row, because the next worker would die too. The number grows with the
 * workers, because one fault may end all of them at once.
 */
export function mostQuickDeaths(workers: number): number {
  return 4 + workers;
}

/**
 * Returns a function that takes how long a dead worker served (0 if it never did) and returns the delay in milliseconds before
 * its replacement; undefined when it must not be replaced.
 */
export function createRestarts(workers: number): (servedMs: number) => number | undefined {
  let quickDeaths = 0;
  return (servedMs) => {
    quickDeaths = servedMs < quickDeathMs ? quickDeaths + 1 : 0;
    if (quickDeaths >= mostQuickDeaths(workers)) return undefined;
    return delaysMs[Math.min(quickDeaths, delaysMs.length - 1)];
  };
}
