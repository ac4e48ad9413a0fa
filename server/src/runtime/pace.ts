import type { Turns } from "./turns.ts";

/** Progress of the consumers, by which a {@link Pace} delays producers. */
export interface Consumption {
  /** Turns shared by the consumers' batches and the paced batches. */
  turns: Turns;
  /** Whether consumers have a backlog now. If not, no batch is delayed. */
  isBehind(): boolean;
  /** Number of pieces consumed so far. */
  consumed(): number;
}

/** How many pieces must be consumed per piece of a batch: above 1, so that a backlog shrinks. */
const consumedPerPiece = 1.15;
/** A batch is delayed for at most this many batches of consumers. */
const maxOvertaken = 6;
/**
 * Few consumers must not slow producers down. If they have consumed less than this part of the last batch after half of
 * `maxOvertaken` batches, the next batch is no longer delayed.
 */
const leastConsumed = 1 / 3;
const maxHeldMs = 50;

/**
 * Back-pressure on producers: a batch is delayed until consumers have consumed about as many pieces as the earlier batches
 * brought. Without it, producers bring twice as much as consumers can take, because a consumer needs two calls for each call of
 * a producer.
 */
export class Pace {
  readonly #consumption: Consumption;
  readonly #nowMs: () => number;
  /** The state when the last batch began. */
  #last = { size: 0, atMs: 0, consumed: 0, overtaken: 0, owed: 0 };

  constructor(consumption: Consumption, nowMs: () => number = () => performance.now()) {
    this.#consumption = consumption;
    this.#nowMs = nowMs;
  }

  /** Milliseconds to delay the next batch, unless more is consumed meanwhile. */
  heldMs(): number {
    const { size, atMs } = this.#last;
    if (!this.#consumption.isBehind() || this.#owed() <= size / 2) return 0;
    const overtaken = this.#consumption.turns.begun() - this.#last.overtaken;
    const areFew = this.#consumedSince() < size * leastConsumed;
    if (overtaken >= (areFew ? maxOvertaken / 2 : maxOvertaken)) return 0;
    return Math.max(0, atMs + maxHeldMs - this.#nowMs());
  }

  /** Called when a batch of `size` pieces begins. */
  begin(size: number): void {
    const { turns } = this.#consumption;
    const owed = Math.min(this.#owed() + size * consumedPerPiece, 2 * size);
    this.#last = {
      size,
      atMs: this.#nowMs(),
      consumed: this.#consumption.consumed(),
      overtaken: turns.begun(),
      owed,
    };
  }

  /** Number of pieces that must still be consumed. */
  #owed(): number {
    return Math.max(0, this.#last.owed - this.#consumedSince());
  }

  #consumedSince(): number {
    return this.#consumption.consumed() - this.#last.consumed;
  }
}
