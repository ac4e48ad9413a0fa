/** Things that wait, each for an owner, with a bound on all of them and on what one owner may have. */
export interface FairQueueOptions<T> {
  /** The owner of a thing. When absent, all have one owner, who may use all the room. */
  ownerOf?: ((thing: T) => string) | undefined;
  sizeOf: (thing: T) => number;
  /** The most that one batch holds: things, and their sizes together. */
  maxBatch: number;
  maxBatchSize: number;
  maxCount: number;
  maxSize: number;
}

interface OwnerQueue<T> {
  owner: string;
  /** Undefined where a thing was taken, so that the list does not keep it alive. */
  things: (T | undefined)[];
  /** Things in front of this one were taken. */
  next: number;
  size: number;
  /** Its deficit counter: what it may still take in this turn. */
  credit: number;
}

/**
 * A queue that gives its owners equal parts of each batch, by deficit round robin: in each turn a queue may take a
 * share of a batch's size, and what it does not use counts for its next. An owner may have as much waiting as there
 * is room left, so whatever the others have, a newcomer finds some.
 */
export class FairQueue<T> {
  readonly #options: FairQueueOptions<T>;
  /** The owners that have something waiting, in round-robin order. */
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

  /** The sizes of all that waits. */
  get size(): number {
    return this.#size;
  }

  /** Whether everything that waits is more than a batch, or exactly one. */
  isBatchFull(): boolean {
    const { maxBatch, maxBatchSize } = this.#options;
    return this.#length >= maxBatch || (this.#length > 1 && this.#size > maxBatchSize);
  }

  /** Adds a thing behind its owner's others; false when there is no room for it. */
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

  /** Takes out what goes into one batch: at least one thing, when any waits. */
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

  /** Takes out everything, owner by owner. */
  takeAll(): T[] {
    const all = [...this.#queues.values()].flatMap((queue) => queue.things.slice(queue.next) as T[]);
    this.#queues.clear();
    this.#length = 0;
    this.#size = 0;
    return all;
  }

  /** One turn of an owner's queue: adds the quantum to its deficit counter (`credit`), and takes what that pays for. */
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

/** The quantum, in the smallest things: an owner with few waits for few of another's. */
const thingsPerTurn = 8;
/** Past so many taken things a queue's list is copied. */
const maxTaken = 1024;

function withoutTaken<T>(queue: OwnerQueue<T>): OwnerQueue<T> {
  if (queue.next > maxTaken) {
    queue.things = queue.things.slice(queue.next);
    queue.next = 0;
  }
  return queue;
}
