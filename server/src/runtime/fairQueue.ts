/** Limits of a queue whose things have owners: for the whole queue and for each owner. */
export interface FairQueueOptions<T> {
  /** Returns the owner of a thing. If absent, all things have one owner, who may use all the room. */
  ownerOf?: ((thing: T) => string) | undefined;
  sizeOf: (thing: T) => number;
  /** Maximum number of things in one batch. */
  maxBatch: number;
  maxBatchSize: number;
  maxCount: number;
  maxSize: number;
}

interface OwnerQueue<T> {
  owner: string;
  /** Removed entries become undefined, so that the list does not keep the things alive. */
  things: (T | undefined)[];
  /** Index of the first thing that was not taken yet. */
  next: number;
  size: number;
  /** Deficit counter: the size that the owner may still take in this turn. */
  credit: number;
}

/**
 * A queue that divides each batch equally among its owners, by deficit round robin: in each turn, an owner may take a part of a
 * batch's size, and an unused rest is added to its next turn. An owner may have as much waiting as there is free room, so a new
 * owner always finds some.
 */
export class FairQueue<T> {
  readonly #options: FairQueueOptions<T>;
  /** The owners with waiting things, in round-robin order. */
  readonly #queues = new Map<string, OwnerQueue<T>>();
  readonly #turnSize: number;
  #length = 0;
  #size = 0;

  constructor(options: FairQueueOptions<T>) {
    this.#options = options;
    this.#turnSize = options.maxBatchSize / options.maxBatch;
  }

  get length(): number {
    return this.#length;
  }

  /** Total size of the waiting things. */
  get size(): number {
    return this.#size;
  }

  /** Whether the waiting things fill a batch. */
  isBatchFull(): boolean {
    const { maxBatch, maxBatchSize } = this.#options;
    return this.#length >= maxBatch || (this.#length > 1 && this.#size > maxBatchSize);
  }

  /** Adds a thing behind its owner's other things; returns false if there is no room for it. */
  push(thing: T): boolean {
    const { ownerOf, sizeOf, maxCount, maxSize } = this.#options;
    const size = sizeOf(thing);
    const owner = ownerOf === undefined ? "" : ownerOf(thing);
    let queue = this.#queues.get(owner);
    const freeCount = maxCount - this.#length;
    const freeSize = maxSize - this.#size - size;
    if (freeCount <= 0 || freeSize < 0) return false;
    if (ownerOf !== undefined && queue !== undefined) {
      if (queue.things.length - queue.next >= freeCount || queue.size > freeSize) return false;
    }
    if (queue === undefined) {
      queue = { owner, things: [], next: 0, size: 0, credit: 0 };
      this.#queues.set(owner, queue);
    }
    queue.things.push(thing);
    queue.size += size;
    this.#length++;
    this.#size += size;
    return true;
  }

  /** Removes and returns the things of one batch: at least one thing, if any waits. */
  take(): T[] {
    const batch: T[] = [];
    let room = this.#options.maxBatchSize;
    while (this.#queues.size > 0) {
      const [queue] = this.#queues.values();
      const { size, isFull } = this.#takeFrom(queue!, batch, room);
      if (isFull) break;
      room -= size;
    }
    return batch;
  }

  /** Removes and returns all things, owner by owner. */
  takeAll(): T[] {
    const all = [...this.#queues.values()].flatMap((queue) => queue.things.slice(queue.next) as T[]);
    this.#queues.clear();
    this.#length = 0;
    this.#size = 0;
    return all;
  }

  /** Serves one turn of an owner: adds the quantum to its deficit counter (`credit`), and takes the things that this covers. */
  #takeFrom(queue: OwnerQueue<T>, batch: T[], room: number): { size: number; isFull: boolean } {
    const { sizeOf, maxBatch } = this.#options;
    const isAlone = this.#queues.size === 1;
    queue.credit += this.#turnSize;
    let taken = 0;
    while (queue.next < queue.things.length) {
      const thing = queue.things[queue.next]!;
      const size = sizeOf(thing);
      const cost = Math.max(size, this.#turnSize / thingsPerTurn);
      if (!isAlone && cost > queue.credit) break;
      if (batch.length === maxBatch || (batch.length > 0 && size > room - taken)) {
        return { size: taken, isFull: true };
      }
      batch.push(thing);
      queue.things[queue.next] = undefined;
      queue.next++;
      queue.credit -= cost;
      queue.size -= size;
      this.#length--;
      this.#size -= size;
      taken += size;
    }
    this.#queues.delete(queue.owner);
    if (queue.next < queue.things.length) this.#queues.set(queue.owner, withoutTaken(queue));
    return { size: taken, isFull: false };
  }
}

/**
 * The quantum as a number of the smallest things. It limits how many things of another owner an owner with few things waits for.
 */
const thingsPerTurn = 8;
/** Number of taken entries above which a queue's list is copied. */
const maxTaken = 1024;

function withoutTaken<T>(queue: OwnerQueue<T>): OwnerQueue<T> {
  if (queue.next > maxTaken) {
    queue.things = queue.things.slice(queue.next);
    queue.next = 0;
  }
  return queue;
}
