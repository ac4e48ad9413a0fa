/** How long to wait for another kind's batch: one that hangs must not block the others. */
const patienceMs = 50;

/**
 * Keeps the batches of several group commits apart. A statement has a fixed cost: two kinds that take turns make half as
 * many, each of twice the size, as two that run side by side.
 */
export class Turns {
  #running = 0;
  #begun = 0;
  /** Callbacks for the end of a batch in order, with the timers of those that wait for a limited time. */
  readonly #waiting = new Map<() => void, NodeJS.Timeout | undefined>();

  /** Whether a batch is under way. */
  isTaken(): boolean {
    return this.#running > 0;
  }

  /** How many batches have begun so far. */
  begun(): number {
    return this.#begun;
  }

  /** A batch begins, of the one that `start` starts. */
  begin(start: () => void): void {
    this.#running++;
    this.#begun++;
    clearTimeout(this.#waiting.get(start));
    this.#waiting.delete(start);
  }

  /** A batch has ended: all who wait are called, and wait anew if they come too late. */
  end(): void {
    this.#running--;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [start, timer] of waiting) {
      clearTimeout(timer);
      start();
    }
  }

  /** Calls `start` when a batch has ended, or `startAnyway` after 50 ms when none has. */
  wait(start: () => void, startAnyway?: () => void): void {
    const isLimited = this.#waiting.get(start) !== undefined;
    // One that waits already, without a limit, may get one now.
    if (isLimited || (startAnyway === undefined && this.#waiting.has(start))) return;
    this.#waiting.set(start, startAnyway && setTimeout(startAnyway, patienceMs));
  }
}
