/**
 * Keeps the batches of several group commits from running at the same time. A statement has a fixed cost: two group commits that
 * take turns make half as many statements, each twice as large, as two that run side by side.
 */
export class Turns {
  /** How long to wait for another group commit's batch; a batch that hangs must not block the others. */
  readonly #patienceMs: number;
  #running = 0;
  #begun = 0;
  /** Callbacks that wait for the end of a batch, in order, with a timer if their wait is limited. */
  readonly #waiting = new Map<() => void, NodeJS.Timeout | undefined>();

  constructor({ patienceMs = 50 } = {}) {
    this.#patienceMs = patienceMs;
  }

  /** Whether a batch is running. */
  isTaken(): boolean {
    return this.#running > 0;
  }

  /** Number of batches that have begun so far. */
  begun(): number {
    return this.#begun;
  }

  /** Called when a batch begins that was started by `start`. */
  begin(start: () => void): void {
    this.#running++;
    this.#begun++;
    clearTimeout(this.#waiting.get(start));
    this.#waiting.delete(start);
  }

  /** Called when a batch has ended: calls all waiting callbacks; those that come too late wait again. */
  end(): void {
    this.#running--;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [start, timer] of waiting) {
      clearTimeout(timer);
      start();
    }
  }

  /** Calls `start` when a batch has ended, or `startAnyway` if none has ended in time. */
  wait(start: () => void, startAnyway?: () => void): void {
    const isLimited = this.#waiting.get(start) !== undefined;
    // A callback that waits without a limit may get a limit now.
    if (isLimited || (startAnyway === undefined && this.#waiting.has(start))) return;
    this.#waiting.set(start, startAnyway && setTimeout(startAnyway, this.#patienceMs));
  }
}
