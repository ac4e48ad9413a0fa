import type { Frame } from "./gatherChanges.ts";

export interface NumberedFrame extends Frame {
  /** Unix milliseconds of this node's clock; never the same twice. */
  id: number;
}

/** Ids are moments of the clock of the node that gave them; clocks may differ by this much. */
const clockToleranceMs = 2_000;

/** The last frames of one organization, for streams that come back. */
export class FrameRing {
  readonly #limit: number;
  /** From this id on nothing is missing. */
  #completeFrom: number;
  #frames: NumberedFrame[] = [];
  #lastId = 0;

  /** @param limit How many frames are kept. @param nowMs From when on the organization is watched. */
  constructor(limit: number, nowMs: number) {
    this.#limit = limit;
    this.#completeFrom = nowMs;
  }

  add(frames: readonly Frame[], nowMs: number): NumberedFrame[] {
    const numbered = frames.map((frame) => {
      this.#lastId = Math.max(this.#lastId + 1, nowMs);
      return { ...frame, id: this.#lastId };
    });
    this.#frames.push(...numbered);
    const dropped = this.#frames.splice(0, Math.max(0, this.#frames.length - this.#limit));
    if (dropped.length > 0) this.#completeFrom = dropped.at(-1)!.id + 1;
    return numbered;
  }

  /** Forgets all frames after changes were missed: a client cannot resume from before now. */
  forget(nowMs: number): void {
    this.#frames = [];
    this.#completeFrom = Math.max(nowMs, this.#lastId + 1) + clockToleranceMs;
  }

  /**
   * The frames after the one with this id. If another node gave the id, frames from shortly before are included, because
   * clocks differ. Undefined when a frame may be missing.
   */
  since({ id, isOwn }: { id: number; isOwn: boolean }): NumberedFrame[] | undefined {
    const from = isOwn ? id + 1 : id - clockToleranceMs;
    if (from < this.#completeFrom) return undefined;
    return this.#frames.filter((frame) => frame.id >= from);
  }

  /** The id to resume from for a stream that begins now: every frame to come has a later one. */
  lastId(nowMs: number): number {
    return Math.max(this.#lastId, nowMs - 1);
  }
}
