/** Things that wait, each for an owner, with a bound on all of them and on what one owner may have. */
export interface FairQueueOptions<T> {
  /** Whose a thing is; all are one owner's when absent, who may then have all the room. */
  ownerOf?: ((thing: T) => string) | undefined;
  sizeOf: (thing: T) => number;
  /** The most that one batch holds: things, and their sizes together. */
  maxBatch: number;
  maxBatchSize: number;
  maxCount: number;
  maxSize: number;
}

interface Lane<T> {
  owner: string;
  things: T[];
  /** Things in front of this one were taken. */
  next: number;
  size: number;
  /** What it may still take of a batch before the next lane's turn. */
  credit: number;
}

/**
 * A queue that gives its owners equal parts of each batch, by deficit round robin: in each turn a lane may take a
 * share of a batch's size, and what it does not use counts for its next. An owner may have as much waiting as there
 * is room left, so whatever the others have, a newcomer finds some.
 */
export class FairQueue<T> {
  readonly #options: FairQueueOptions<T>;
  /** Those in which something waits, in the order of their turns. */
  readonly #lanes = new Map<string, Lane<T>>();
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
    let lane = this.#lanes.get(owner);
    const freeCount = maxCount - this.#length;
    const freeSize = maxSize - this.#size - size;
    if (freeCount <= 0 || freeSize < 0) return false;
    if (ownerOf !== undefined && lane !== undefined) {
      if (lane.things.length - lane.next >= freeCount || lane.size > freeSize) return false;
    }
    if (lane === undefined) {
      lane = { owner, things: [], next: 0, size: 0, credit: 0 };
      this.#lanes.set(owner, lane);
    }
    lane.things.push(thing);
    lane.size += size;
    this.#length++;
    this.#size += size;
    return true;
  }

  /** Takes out what goes into one batch: at least one thing, when any waits. */
  take(): T[] {
    const batch: T[] = [];
    let room = this.#options.maxBatchSize;
    while (this.#lanes.size > 0) {
      const [lane] = this.#lanes.values();
      const { size, isFull } = this.#takeFrom(lane!, batch, room);
      if (isFull) break;
      room -= size;
    }
    return batch;
  }

  /** Takes out everything, owner by owner. */
  takeAll(): T[] {
    const all = [...this.#lanes.values()].flatMap((lane) => lane.things.slice(lane.next));
    this.#lanes.clear();
    this.#length = 0;
    this.#size = 0;
    return all;
  }

  /** Gives one lane its turn. */
  #takeFrom(lane: Lane<T>, batch: T[], room: number): { size: number; isFull: boolean } {
    const { sizeOf, maxBatch } = this.#options;
    const isAlone = this.#lanes.size === 1;
    lane.credit += this.#turnSize;
    let taken = 0;
    while (lane.next < lane.things.length) {
      const thing = lane.things[lane.next]!;
      const size = sizeOf(thing);
      const cost = Math.max(size, this.#turnSize / thingsPerTurn);
      if (!isAlone && cost > lane.credit) break;
      if (batch.length === maxBatch || (batch.length > 0 && size > room - taken)) {
        return { size: taken, isFull: true };
      }
      batch.push(thing);
      lane.next++;
      lane.credit -= cost;
      lane.size -= size;
      this.#length--;
      this.#size -= size;
      taken += size;
    }
    this.#lanes.delete(lane.owner);
    if (lane.next < lane.things.length) this.#lanes.set(lane.owner, withoutTaken(lane));
    return { size: taken, isFull: false };
  }
}

/** So many of the smallest things one lane takes in a turn: an owner with few waits for few of another's. */
const thingsPerTurn = 8;
/** Past so many taken things a lane's list is copied. */
const maxTaken = 1024;

function withoutTaken<T>(lane: Lane<T>): Lane<T> {
  if (lane.next > maxTaken) {
    lane.things = lane.things.slice(lane.next);
    lane.next = 0;
  }
  return lane;
}
