import { IncomingMessage } from "node:http";

/** Back-pressure: while this many bytes of a body wait for their reader, the connection is not read. */
const maxKeptBytes = 64 * 1024;

/**
 * A request that buffers its body until its reader is known: the fast path takes a body that arrived in one piece, without the
 * cost of a stream, and the framework reads the body as a stream.
 */
export class PacedRequest extends IncomingMessage {
  #kept: Buffer | undefined;
  /** The pieces of the body after `#kept`. */
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
   * Calls `taken` as soon as the first piece of the body has arrived: with the body, or with undefined if this piece does not
   * have all of the body's `length` bytes.
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

  /** Bytes of the body that have not arrived yet; Infinity if the length is not stated. */
  unreadBytes(): number {
    if (this.complete) return 0;
    if (this.headers["transfer-encoding"] !== undefined) return Infinity;
    return Number(this.headers["content-length"] ?? 0) - this.#receivedBytes;
  }

  /** Called by Node after the answer, to discard the rest of the body. Nothing is left if the fast path has taken the body. */
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
