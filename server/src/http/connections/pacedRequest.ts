import { IncomingMessage } from "node:http";

/** A body that waits for its reader stops the connection's reading at this size (back-pressure). */
const maxKeptBytes = 64 * 1024;

/**
 * A request that keeps its body aside until its reader is known: the fast path takes a body in one piece from here,
 * without the cost of a stream, and the framework reads it as a stream.
 */
export class PacedRequest extends IncomingMessage {
  #kept: Buffer | undefined;
  /** The pieces of the body behind `#kept`. */
  #keptMore: Buffer[] | undefined;
  #isStream = false;
  #receivedBytes = 0;
  #onFirstPiece: (() => void) | undefined;

  /** Called by the parser with each piece of the body, and with null at its end. */
  override push(piece: Buffer | null): boolean {
    if (piece !== null) this.#receivedBytes += piece.length;
    if (this.#isStream) return super.push(piece);
    if (this.#kept !== undefined) {
      if (piece !== null) (this.#keptMore ??= []).push(piece);
    } else if (piece !== null) {
      this.#kept = piece;
      this.#onFirstPiece?.();
    }
    return this.#receivedBytes < maxKeptBytes;
  }

  /**
   * Calls `taken` with the body as soon as its first piece has come, or with undefined if that piece is not all of its
   * `length` bytes.
   */
  takeBody(length: number, taken: (body: Buffer | undefined) => void): void {
    const take = (): void => taken(this.#kept?.length === length ? this.#kept : undefined);
    if (this.#kept === undefined) this.#onFirstPiece = take;
    else take();
  }

  /** Turns the request into the stream that the framework reads. */
  toStream(): void {
    if (this.#isStream) return;
    this.#isStream = true;
    if (this.#kept !== undefined) super.push(this.#kept);
    for (const piece of this.#keptMore ?? []) super.push(piece);
    this.#discard();
    if (this.complete) super.push(null);
  }

  /** Bytes of the body that have not come yet; Infinity where its length is not stated. */
  unreadBytes(): number {
    if (this.complete) return 0;
    if (this.headers["transfer-encoding"] !== undefined) return Infinity;
    return Number(this.headers["content-length"] ?? 0) - this.#receivedBytes;
  }

  /** Called by Node behind the answer, to discard the rest of a body: there is none where the fast path has taken it. */
  _dump(): void {
    if (this.#isStream) dump.call(this);
    else this.#discard();
  }

  #discard(): void {
    this.#kept = undefined;
    this.#keptMore = undefined;
    this.#onFirstPiece = undefined;
  }
}

const { _dump: dump } = IncomingMessage.prototype as unknown as { _dump: () => void };
