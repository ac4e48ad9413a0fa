import type { Turns } from "./turns.ts";

/** What a {@link Pace} knows of those who consume what its batches bring. */
export interface Consumption {
  /** Shared by the consumers' batches and those that are paced. */
  turns: Turns;
  /** Whether consumers are behind at this moment. Nothing is held otherwise. */
  isBehind(): boolean;
  /** How many pieces have been consumed so far. */
  consumed(): number;
}

/** Somewhat more has to be consumed than a batch brought, so that a backlog shrinks. */
const consumedPerPiece = 1.15;
/** A batch is held for at most so many batches of consumers. */
const maxOvertaken = 6;
/** Few consumers do not slow producers down: after half as many batches they have to have consumed this part of the last batch. */
const leastConsumed = 1 / 3;
const maxHeldMs = 50;

/**
 * Back-pressure on producers: a batch is held until about as much has been consumed as the batches before it brought.
 * Without it producers, who make one call where consumers make two, bring twice as much as these can take.
 */
export class Pace {
  readonly #consumption: Consumption;
  readonly #nowMs: () => number;
  /** At the beginning of the last batch. */
  #last = { size: 0, atMs: 0, consumed: 0, overtaken: 0, owed: 0 };

  constructor(consumption: Consumption, nowMs: () => number = () => performance.now()) {
    this.#consumption = consumption;
    this.#nowMs = nowMs;
  }

  /** For how many milliseconds the next batch is held unless more is consumed. */
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

  /** How much is still to be consumed of what came in. */
  #owed(): number {
    return Math.max(0, this.#last.owed - this.#consumedSince());
  }

  #consumedSince(): number {
    return this.#consumption.consumed() - this.#last.consumed;
  }
}
