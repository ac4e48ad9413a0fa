/** How long to wait for another kind's batch: one that hangs must not block the others. */
const patienceMs = 50;
/** After so many batches of others, the first to wait goes before the one with more. */
const maxOvertaken = 2;

/** A group commit that waits for its turn. */
interface Waiting {
  /** How many pieces it has by now. */
  count: () => number;
  /** How many batches of others have begun meanwhile. */
  overtaken: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Keeps the batches of several group commits apart. A statement has a fixed cost: two kinds that take turns make half as
 * many, each of twice the size, as two that run side by side.
 */
export class Turns {
  #running = 0;
  #begun = 0;
  #passed = 0;
  /** By the callback that starts a batch. */
  readonly #waiting = new Map<() => void, Waiting>();

  /** Whether a batch is under way. */
  isTaken(): boolean {
    return this.#running > 0;
  }

  /** How many pieces all batches so far had together. */
  get begun(): number {
    return this.#begun;
  }

  /** How many of these pass something that came in with a piece of another group commit. */
  get passed(): number {
    return this.#passed;
  }

  /** A batch of `count` pieces begins, of the group commit that `start` starts. */
  begin(start: () => void, count: number, isPassing = false): void {
    this.#running++;
    this.#begun += count;
    if (isPassing) this.#passed += count;
    this.leave(start);
  }

  /** The one that `start` starts does not wait any more. */
  leave(start: () => void): void {
    clearTimeout(this.#waiting.get(start)?.timer);
    this.#waiting.delete(start);
  }

  /**
   * A batch of the group commit of `ended` has ended: all who wait are called. Of three or more that one is last, and of the others the
   * one with the most pieces is first: if always the first to wait went first, callers that alternate between two kinds of calls would
   * stay in two groups, with batches of half the size.
   */
  end(ended: () => void): void {
    this.#running--;
    const waiting = [...this.#waiting];
    if (waiting.length > 2) waiting.sort((one, other) => rank(other, ended) - rank(one, ended));
    for (const [start] of waiting) start();
    if (this.#running > 0) for (const left of this.#waiting.values()) left.overtaken++;
  }

  /** Calls `start` whenever a batch has ended until it begins one, or `startAnyway` when it has not after 50 ms. */
  wait(start: () => void, count: () => number, startAnyway?: () => void): void {
    let waiting = this.#waiting.get(start);
    if (waiting === undefined)
      this.#waiting.set(start, (waiting = { count, overtaken: 0, timer: undefined }));
    if (startAnyway === undefined) return;
    waiting.timer ??= setTimeout(() => {
      this.#waiting.delete(start);
      startAnyway();
    }, patienceMs);
  }
}

function rank([start, { count, overtaken }]: [() => void, Waiting], ended: () => void): number {
  if (start === ended) return 0;
  return 1 + count() + (overtaken < maxOvertaken ? 0 : overtaken * first);
}

/** More than any count. */
const first = 1_000_000;
