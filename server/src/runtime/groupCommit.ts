import { FairQueue } from "./fairQueue.ts";
import type { Pace } from "./pace.ts";
import { Turns } from "./turns.ts";

export interface GroupCommitOptions<T, R> {
  /** Runs a batch in one transaction and returns one result per piece, in order. */
  run: (batch: T[]) => Promise<R[]>;
  /** Called after each batch, while the next one runs and before the callers get their results. */
  committed?: (batch: T[], results: R[]) => void;
  /** Whether an error concerns a piece of the batch and not the database, so that half of the batch may succeed. */
  isPieceAtFault: (error: unknown) => boolean;
  /**
   * Whether an error (such as a lost connection) also fails the work that waits behind this batch and was in no transaction. If
   * absent, no error does.
   */
  isHopeless?: (error: unknown) => boolean;
  /** Number of bytes that a piece adds to its batch. */
  sizeOf: (work: T) => number;
  maxBatch: number;
  maxBatchBytes: number;
  /** For work that no caller waits for. If absent, a batch starts at once. */
  gather?: Gather;
  /** Shared with group commits whose batches should not run at the same time. */
  turns?: Turns;
  /** Back-pressure: delays batches that are not full. If absent, no batch is delayed. */
  pace?: Pick<Pace, "heldMs" | "begin">;
  /** Maximum number of waiting pieces; see {@link FairQueue} for the limit of one owner. */
  maxQueued: number;
  maxQueuedBytes?: number;
  /** Returns the owner of a piece of work. Owners have equal shares of each batch. If absent, all work has one owner. */
  ownerOf?: (work: T) => string;
}

/**
 * A batch starts when `count` pieces wait, or when the first has waited for `ms`. If fewer than `few.count` pieces wait then, it
 * starts when `few.count` wait, or when the first has waited for `few.ms`.
 */
interface Gather {
  count: number;
  ms: number;
  few?: { count: number; ms: number };
}

/** The limit of work that waits for the database is reached. */
export class QueueFullError extends Error {}

/** The work was never started, because the batch before it failed. */
export class NotBegunError extends Error {}

/** Receives the result of a piece of work. */
export type Told<T, R> = (result: R, work: T) => void;

interface Waiting<T, R> {
  work: T;
  resolve: Told<T, R>;
  reject: Told<T, unknown>;
}

/** Maximum number of concurrent batches: one, and a second one that is full. */
const maxConcurrentBatches = 2;
/**
 * Maximum number of concurrent batches while the waiting work fills a batch by its bytes. Large batches one after another would
 * leave the disk or a core idle.
 */
const maxConcurrentLargeBatches = 3;

/**
 * Group commit: gathers the work of many callers into few transactions. While one batch commits, the next one gathers, so the
 * duration of the commit paces the batches. An idle service commits at once and a busy one commits hundreds of pieces together,
 * without a timer and without an added wait unless `gather` is given. Only a full batch starts while another runs.
 */
export class GroupCommit<T, R> {
  readonly #options: GroupCommitOptions<T, R>;
  readonly #turns: Turns;
  readonly #queue: FairQueue<Waiting<T, R>>;
  #running = 0;
  #inFlight = 0;
  #isScheduled = false;
  #onDrained: (() => void)[] = [];
  #gathering: NodeJS.Timeout | undefined;
  /** Timer that ends the delay of a batch by `pace`. */
  #holding: NodeJS.Timeout | undefined;
  /** Whether the first piece has waited for `gather.ms` while fewer than `gather.few.count` wait. */
  #areFew = false;

  constructor(options: GroupCommitOptions<T, R>) {
    const { ownerOf, sizeOf } = options;
    this.#options = options;
    this.#queue = new FairQueue({
      ownerOf: ownerOf && ((waiting) => ownerOf(waiting.work)),
      sizeOf: (waiting) => sizeOf(waiting.work),
      maxBatch: options.maxBatch,
      maxBatchSize: options.maxBatchBytes,
      maxCount: options.maxQueued,
      maxSize: options.maxQueuedBytes ?? Number.POSITIVE_INFINITY,
    });
    this.#turns = options.turns ?? new Turns();
  }

  /**
   * Queues one piece of work and returns its result after the commit of its batch.
   * @throws {QueueFullError} at once if too much work waits; otherwise the error that `run` threw for its batch.
   */
  add(work: T): Promise<R> {
    return new Promise<R>((resolve, reject) => this.put(work, resolve, reject));
  }

  /**
   * Queues a piece of work like {@link add}, but with callbacks instead of a promise, for work that comes by the thousand and
   * shares the same two functions. Neither may throw.
   */
  put(work: T, resolve: Told<T, R>, reject: Told<T, unknown>): void {
    if (this.#queue.push({ work, resolve, reject })) this.#schedule();
    else reject(new QueueFullError(`${this.#queue.length} pieces of work wait for the database`), work);
  }

  /** Number of pieces that wait or run. */
  pending(): number {
    return this.#queue.length + this.#inFlight;
  }

  /** Work that waits for its batch. */
  waiting(): { count: number; bytes: number } {
    return { count: this.#queue.length, bytes: this.#queue.size };
  }

  /** Resolves when no piece waits or runs. */
  drained(): Promise<void> {
    if (this.pending() === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const { gather } = this.#options;
    if (gather !== undefined && this.#onDrained.length === 0) {
      const wanted = (this.#areFew && gather.few?.count) || gather.count;
      if (this.#queue.length < wanted) {
        this.#gathering ??= setTimeout(this.#endGathering, gather.ms, gather);
        return;
      }
    }
    this.#isScheduled = true;
    // setImmediate runs after the poll phase has read this turn's sockets, so that their requests share a batch.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  readonly #endGathering = ({ ms, few }: Gather): void => {
    if (few === undefined || this.#queue.length >= few.count) {
      this.#start();
      return;
    }
    this.#areFew = true;
    this.#gathering = setTimeout(this.#start, few.ms - ms);
  };

  readonly #startBesideOthers = (): void => this.#start(this.#running > 0);

  /** Starts batches of the waiting work. @param isTaken Whether another batch runs, so that only a full batch may start. */
  readonly #start = (isTaken = this.#turns.isTaken()): void => {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#areFew = false;
    let onlyFull = isTaken;
    while (this.#queue.length > 0 && this.#running < this.#maxRunning()) {
      if (onlyFull && !this.#queue.isBatchFull()) {
        this.#turns.wait(this.#start, this.#running === 0 ? this.#startBesideOthers : undefined);
        return;
      }
      if (this.#isHeld()) return;
      const batch = this.#queue.take();
      this.#running++;
      this.#turns.begin(this.#start);
      this.#options.pace?.begin(batch.length);
      onlyFull = true;
      this.#inFlight += batch.length;
      void this.#commit(batch);
    }
  };

  /** Whether the next batch is delayed by `pace`. It is checked again when another batch has ended and when the delay is over. */
  #isHeld(): boolean {
    clearTimeout(this.#holding);
    const heldMs = this.#options.pace?.heldMs() ?? 0;
    if (heldMs === 0 || this.#queue.isBatchFull()) return false;
    this.#turns.wait(this.#start);
    this.#holding = setTimeout(this.#start, heldMs);
    return true;
  }

  #maxRunning(): number {
    return this.#queue.size > this.#options.maxBatchBytes ? maxConcurrentLargeBatches : maxConcurrentBatches;
  }

  /**
   * Commits a batch and starts the next one before it delivers this batch's results, so that the database is never idle. The
   * promise never rejects.
   */
  async #commit(batch: Waiting<T, R>[]): Promise<void> {
    const settled = await settle(batch, this.#options, this.#giveUp);
    this.#running--;
    this.#turns.end();
    if (this.#queue.length > 0) {
      if (this.#options.gather === undefined) this.#start();
      else this.#schedule();
    }
    await afterTicks();
    settled();
    this.#inFlight -= batch.length;
    if (this.pending() === 0) this.#tellDrained();
  }

  /** Fails all waiting work. */
  readonly #giveUp = (cause: unknown): void => {
    if (!this.#options.isHopeless?.(cause)) return;
    const error = new NotBegunError("the batch before failed", { cause });
    for (const { reject, work } of this.#queue.takeAll()) reject(error, work);
  };

  #tellDrained(): void {
    const told = this.#onDrained;
    this.#onDrained = [];
    for (const tell of told) tell();
  }
}

/** Resolves after the driver's pool has written its query, which it does in the next tick. */
function afterTicks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Runs a batch. The returned function delivers each piece's result or error. The promise never rejects. */
async function settle<T, R>(
  batch: Waiting<T, R>[],
  options: GroupCommitOptions<T, R>,
  failed: (error: unknown) => void,
): Promise<() => void> {
  try {
    const work = batch.map((waiting) => waiting.work);
    const results = await options.run(work);
    return () => {
      try {
        options.committed?.(work, results);
      } catch (error) {
        for (const { reject, work: piece } of batch) reject(error, piece);
        return;
      }
      for (let index = 0; index < batch.length; index++) {
        const { resolve, work: piece } = batch[index]!;
        resolve(results[index]!, piece);
      }
    };
  } catch (error) {
    failed(error);
    if (batch.length === 1 || !options.isPieceAtFault(error)) {
      return () => {
        for (const { reject, work: piece } of batch) reject(error, piece);
      };
    }
    // Nothing was committed. The batch is bisected, so that one faulty piece does not fail the others.
    const middle = batch.length >> 1;
    const first = await settle(batch.slice(0, middle), options, failed);
    const second = await settle(batch.slice(middle), options, failed);
    return () => {
      first();
      second();
    };
  }
}
