import type { Turns } from "./turns.ts";

/** The others press when so many of their pieces pass between two batches. Otherwise batches go on without regard to them. */
const leastPassed = 4;
/** A batch is not limited to less. */
const leastLimit = 8;
/** How many pieces a batch may have for each of the others' since the last: somewhat less than half, so that a backlog shrinks. */
const share = 0.44;
/** How long a batch waits for one of the others, whose callers have just been answered and call again. */
const pauseMs = 2;

/**
 * Keeps the callers of one group commit from outrunning those of the others, who need two calls for each of its calls: a message is
 * put once, but claimed and acknowledged. While the others press, its batches take turns with theirs, have fewer pieces than half of
 * theirs since the last one, and one of theirs comes between two. Others that call seldom limit nothing.
 */
export class Yielding {
  readonly #turns: Turns;
  readonly #isOn: () => boolean;
  readonly #onPaused: () => void;
  #begunBefore = 0;
  #passedBefore = 0;
  /** How many pieces passed between the last two batches. */
  #lastPassed = 0;
  #pause: NodeJS.Timeout | undefined;
  #hasPaused = false;

  /** @param onPaused Called when the others did not come: nothing is limited then. */
  constructor(options: { turns: Turns; isOn: () => boolean; onPaused: () => void }) {
    this.#turns = options.turns;
    this.#isOn = options.isOn;
    this.#onPaused = options.onPaused;
  }

  /** Whether the next batch takes a turn among the others: enough of their pieces passed since the last one or before it. */
  isPressed(): boolean {
    return this.#isOn() && Math.max(this.#lastPassed, this.#passedSince()) >= leastPassed;
  }

  /** How many pieces the next batch may have; 0 while it waits for the others, which ends with a turn or with `onPaused`. */
  limit(): number {
    if (!this.isPressed()) return Number.POSITIVE_INFINITY;
    const others = this.#othersSince();
    if (others > 0) return Math.max(leastLimit, Math.floor(others * share));
    if (this.#hasPaused) return Number.POSITIVE_INFINITY;
    this.#pause ??= setTimeout(() => {
      this.#hasPaused = true;
      this.#onPaused();
    }, pauseMs);
    return 0;
  }

  /** Called when a batch has begun. */
  begin(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#hasPaused = false;
    this.#lastPassed = this.#passedSince();
    this.#passedBefore = this.#turns.passed;
    this.#begunBefore = this.#turns.begun;
  }

  #passedSince(): number {
    return this.#turns.passed - this.#passedBefore;
  }

  #othersSince(): number {
    return this.#turns.begun - this.#begunBefore;
  }
}
