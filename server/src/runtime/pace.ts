import type { Turns } from "./turns.ts";

/** Progress of the consumers, by which a {@link Pace} holds producers back. */
export interface Consumption {
  /** Turns shared by the consumers' batches and the paced batches. */
  turns: Turns;
  /** Whether consumers are behind now. If not, no batch is held. */
  isBehind(): boolean;
  /** How many pieces have been consumed so far. */
  consumed(): number;
}

/** Pieces to be consumed for each piece of a batch: above 1, so that a backlog shrinks. */
const consumedPerPiece = 1.15;
/** A batch is held for at most this many batches of consumers. */
const maxOvertaken = 6;
/**
 * Few consumers must not slow producers down: if they have consumed less than this part of the last batch after half of
 * `maxOvertaken` batches, the next batch is no longer held.
 */
const leastConsumed = 1 / 3;
const maxHeldMs = 50;

/**
 * Back-pressure on producers: a batch is held until consumers have consumed about as many pieces as the batches before it
 * brought. Without it, producers bring twice as much as consumers can take, because a consumer needs two calls for each call
 * of a producer.
 */
export class Pace {
  readonly #consumption: Consumption;
  readonly #nowMs: () => number;
  /** State at the beginning of the last batch. */
  #last = { size: 0, atMs: 0, consumed: 0, overtaken: 0, owed: 0 };

  constructor(consumption: Consumption, nowMs: () => number = () => performance.now()) {
    this.#consumption = consumption;
    this.#nowMs = nowMs;
  }

  /** Milliseconds for which the next batch is held, unless more is consumed meanwhile. */
  heldMs(): number {
    const { size, atMs } = this.#last;
    if (!this.#consumption.isBehind() || this.#owed() <= size / 2) return 0;
    const overtaken = this.#consumption.turns.begun() - this.#last.overtaken;
    const areFew = this.#consumedSince() < size * leastConsumed;
    if (overtaken >= (areFew ? maxOvertaken / 2 : maxOvertaken)) return 0;
    return Math.max(0, atMs + maxHeldMs - this.#nowMs());
  }

  /** A batch of `size` pieces has begun. */
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

  /** Pieces that are still to be consumed. */
  #owed(): number {
    return Math.max(0, this.#last.owed - this.#consumedSince());
  }

  #consumedSince(): number {
    return this.#consumption.consumed() - this.#last.consumed;
  }
}
