import type { Frame } from "./gatherChanges.ts";

export interface NumberedFrame extends Frame {
  /** Unix milliseconds of this node's clock, unique on this node. */
  id: number;
}

/** Ids are times of the clock of the node that created them; clocks may differ by this much. */
const clockToleranceMs = 2_000;

/** The last frames of one organization, for clients that reconnect. */
export class FrameRing {
  readonly #limit: number;
  /** No frame is missing from this id on. */
  #completeFrom: number;
  #frames: NumberedFrame[] = [];
  #lastId = 0;

  /** @param limit Maximum number of kept frames. @param nowMs When this node began to watch the organization. */
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

  /** Drops all frames after changes were missed, so that no client can resume from before now. */
  forget(nowMs: number): void {
    this.#frames = [];
    this.#completeFrom = Math.max(nowMs, this.#lastId + 1) + clockToleranceMs;
  }

  /**
   * Returns the frames after the one with this id; undefined if a frame may be missing. If another node created the id, frames
   * from shortly before are included, because clocks differ. An id from the future is of a clock that is ahead, or was set
   * back: frames that follow it may have lower ids.
   */
  since({ id, isOwn }: { id: number; isOwn: boolean }, nowMs: number): NumberedFrame[] | undefined {
    const from = isOwn ? id + 1 : id - clockToleranceMs;
    if (from < this.#completeFrom || from > Math.max(this.#lastId + 1, nowMs)) return undefined;
    return this.#frames.filter((frame) => frame.id >= from);
  }

  /** The id from which a stream that begins now can resume; every later frame has a higher id, also after the clock is set back. */
  lastId(nowMs: number): number {
    this.#lastId = Math.max(this.#lastId, nowMs - 1);
    return this.#lastId;
  }
}
