import { FairQueue } from "./fairQueue.ts";
import type { Pace } from "./pace.ts";
import { Turns } from "./turns.ts";

export interface GroupCommitOptions<T, R> {
  /** Does a batch in one transaction and gives a result per piece, in order. */
  run: (batch: T[]) => Promise<R[]>;
  /** Called after each batch, while the next is under way and before this one's callers have their results. */
  committed?: (batch: T[], results: R[]) => void;
  /** Whether an error is about a piece in the batch rather than about the database, so that halves may succeed. */
  isPieceAtFault: (error: unknown) => boolean;
  /**
   * Whether an error (such as a lost connection) also fails the work that waits behind this batch, none of which was
   * part of a transaction. None is when absent.
   */
  isHopeless?: (error: unknown) => boolean;
  /** Bytes a piece adds to its batch. */
  sizeOf: (work: T) => number;
  maxBatch: number;
  maxBatchBytes: number;
  /** For work that nobody waits for. A batch starts at once when absent. */
  gather?: Gather;
  /** Shared with others whose batches are not to run at the same time. */
  turns?: Turns;
  /** Holds batches, except full ones. None is held when absent. */
  pace?: Pick<Pace, "heldMs" | "begin">;
  /** Pieces that may wait, and bytes of them; see {@link FairQueue} for what one owner may have of it. */
  maxQueued: number;
  maxQueuedBytes?: number;
  /** The owner of a piece of work. Owners have equal shares of each batch. When absent, all work has one owner. */
  ownerOf?: (work: T) => string;
}

/**
 * A batch starts when `count` pieces wait, or the first has waited for `ms`; fewer than `few.count` wait until there are as
 * many, or the first has waited for `few.ms`.
 */
interface Gather {
  count: number;
  ms: number;
  few?: { count: number; ms: number };
}

/** More waits for the database than is bounded for. */
export class QueueFullError extends Error {}

/** Work that was never begun, because the batch before it failed. */
export class NotBegunError extends Error {}

/** Is told what came of a piece of work. */
export type Told<T, R> = (result: R, work: T) => void;

interface Waiting<T, R> {
  work: T;
  resolve: Told<T, R>;
  reject: Told<T, unknown>;
}

/** The most batches at a time: the first, and one that is full. */
const maxConcurrentBatches = 2;
/** The same while waiting work fills a batch by its bytes: large batches one after the other leave the disk or a core idle. */
const maxConcurrentLargeBatches = 3;

/**
 * Group commit: gathers the work of many callers into few transactions. One batch is under way while the next gathers: the commit's
 * own duration paces the batches, so an idle service commits at once and a busy one commits hundreds together, with no timer and no
 * added wait unless `gather` asks for one. Only a full batch starts beside another.
 */
export class GroupCommit<T, R> {
  readonly #options: GroupCommitOptions<T, R>;
  readonly #turns: Turns;
  readonly #queue: FairQueue<Waiting<T, R>>;
  #running = 0;
  #underWay = 0;
  #isScheduled = false;
  #onDrained: (() => void)[] = [];
  #gathering: NodeJS.Timeout | undefined;
  /** Ends the time for which a batch is held. */
  #holding: NodeJS.Timeout | undefined;
  /** The first piece has waited for `gather.ms`, and fewer than `gather.few.count` wait. */
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
   * Queues one piece of work and gives its result after the commit of its batch.
   * @throws {QueueFullError} at once when too much waits; and whatever `run` threw for its batch.
   */
  add(work: T): Promise<R> {
    return new Promise<R>((resolve, reject) => this.put(work, resolve, reject));
  }

  /**
   * The same without a promise, for work that comes by the thousand and is told of by the same two functions. Neither may
   * throw.
   */
  put(work: T, resolve: Told<T, R>, reject: Told<T, unknown>): void {
    if (this.#queue.push({ work, resolve, reject })) this.#schedule();
    else reject(new QueueFullError(`${this.#queue.length} pieces of work wait for the database`), work);
  }

  /** How many pieces wait or are under way. */
  pending(): number {
    return this.#queue.length + this.#underWay;
  }

  /** Work that waits for its batch. */
  waiting(): { count: number; bytes: number } {
    return { count: this.#queue.length, bytes: this.#queue.size };
  }

  /** Resolves when nothing waits and nothing is under way. */
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
    // setImmediate: after the poll phase has read this turn's sockets, so that their requests share a batch.
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

  /** Starts batches of what waits. @param isTaken Whether another batch has the turn, so that only a full one starts. */
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
      this.#underWay += batch.length;
      void this.#commit(batch);
    }
  };

  /** Whether the next batch is held. It is tried again when another batch has ended and when its time is up. */
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

  /** Never rejects. Sends the next batch before handing out this one's results, so that the database does not idle. */
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
    this.#underWay -= batch.length;
    if (this.pending() === 0) this.#tellDrained();
  }

  /** Fails all that waits. */
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

/** The driver's pool writes a query in the next tick; what follows this comes after it. */
function afterTicks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Never rejects. Calling what it gives hands every piece of the batch its result or its error. */
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
    // Nothing was committed: bisect, so that one bad piece does not fail the others.
    const middle = batch.length >> 1;
    const first = await settle(batch.slice(0, middle), options, failed);
    const second = await settle(batch.slice(middle), options, failed);
    return () => {
      first();
      second();
    };
  }
}
