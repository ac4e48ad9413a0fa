import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endOfHead } from "./endOfHead.ts";
import { endAndDiscard } from "./endAndDiscard.ts";

/** Bytes of a body that may still arrive after the answer, if the connection is to be kept. */
const maxUnreadBytes = 64 * 1024;

/** A request that was begun and whose answer, or body, is not over. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Bytes of its body that are not read yet; undefined when it is chunked. */
  unreadBytes: number | undefined;
  isAnswered: boolean;
}

/**
 * Gives Node's parser the bytes of one request at a time: of what has come, first all up to the end of a head, then
 * its body, and nothing more until it is answered. The parser alone says what a request is; this only counts.
 */
export class PacedConnection {
  readonly #socket: Socket;
  readonly #read: (this: Socket, piece: Buffer) => void;
  /** The last bytes that the parser has got, where they may begin the end of a head. */
  #seam: Buffer = nothing;
  #exchange: Exchange | undefined;
  #isPaused = false;
  #isClosing = false;
  /** Ends the connection behind the answer of the request under way. */
  #endBehind: (() => void) | undefined;

  /** @param socket A connection that the parser has been attached to, and from which nothing was read yet. */
  constructor(socket: Socket) {
    const [read] = socket.listeners("data") as ((this: Socket, piece: Buffer) => void)[];
    if (read === undefined) throw new Error("the parser does not listen for data");
    this.#socket = socket;
    this.#read = read;
    // Node stops reading past its streams once somebody else listens for data.
    socket.on("data", this.#take).off("data", read);
    socket.once("close", () => (this.#isClosing = true));
    socket.destroySoon = () => this.end();
  }

  /** A request begins: its head is read. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const stated = request.headers["content-length"];
    const isChunked = request.headers["transfer-encoding"] !== undefined;
    const exchange: Exchange = {
      request,
      response,
      unreadBytes: isChunked ? undefined : Number(stated ?? 0),
      isAnswered: false,
    };
    this.#exchange = exchange;
    response.once("close", () => {
      exchange.isAnswered = true;
      this.#goOn();
    });
  }

  /** Whether a request is being handled: it has been read to its end and is not answered. */
  isBusy(): boolean {
    return this.#exchange?.request.complete === true && !this.#exchange.isAnswered;
  }

  /** Whether so little of the present request is unread that the connection can outlive an answer before its end. */
  canReadOn(): boolean {
    const { request, unreadBytes = Infinity } = this.#exchange ?? {};
    return request === undefined || request.complete || unreadBytes <= maxUnreadBytes;
  }

  /**
   * Refuses what cannot be read: behind the answer of the request under way, when that has been read to its end, and
   * at once otherwise.
   */
  refuse(answer: string): void {
    if (this.#isClosing || this.#endBehind !== undefined) return;
    const exchange = this.#exchange;
    const end = (): void => this.end(answer);
    if (exchange === undefined) end();
    else if (exchange.request.complete && !exchange.isAnswered) this.#endBehind = end;
    else if (exchange.response.headersSent) this.end();
    else end();
  }

  /** Ends the connection behind what was written to it, and `answer`. */
  end(answer?: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#socket.off("data", this.#take);
    endAndDiscard(this.#socket, answer);
  }

  readonly #take = (piece: Buffer): void => {
    let rest = piece;
    while (rest.length > 0 && !this.#isHeld()) {
      const length = this.#lengthOfNext(rest);
      const next = rest.subarray(0, length);
      rest = rest.subarray(length);
      this.#read.call(this.#socket, next);
      this.#forgetAnswered();
    }
    if (rest.length === 0 || this.#isClosing) return;
    // Unread into the paused socket (back-pressure), which then emits `end` only after this has been read.
    this.#isPaused = true;
    this.#socket.pause().unshift(rest);
  };

  #isHeld(): boolean {
    return this.#isClosing || this.#endBehind !== undefined || this.#exchange?.request.complete === true;
  }

  #lengthOfNext(bytes: Buffer): number {
    const exchange = this.#exchange;
    if (exchange?.unreadBytes) {
      const length = Math.min(exchange.unreadBytes, bytes.length);
      exchange.unreadBytes -= length;
      return length;
    }
    // The end of a chunked body looks like the end of a head.
    const length = endOfHead(this.#seam, bytes);
    this.#seam =
      length === undefined ? Buffer.concat([this.#seam, bytes.subarray(-3)]).subarray(-3) : nothing;
    return length ?? bytes.length;
  }

  /** Forgets the request that is answered and read to its end. */
  #forgetAnswered(): void {
    const exchange = this.#exchange;
    if (exchange?.isAnswered && exchange.request.complete) this.#exchange = undefined;
  }

  #goOn(): void {
    if (this.#isClosing) return;
    if (!this.canReadOn()) {
      this.end();
      return;
    }
    this.#forgetAnswered();
    if (this.#endBehind !== undefined) this.#endBehind();
    else if (this.#isPaused) setImmediate(this.#resume);
  }

  /**
   * Reads on in the next turn of the event loop: `resume` alone goes on within process.nextTick, and a thousand pipelined
   * requests whose answers wait for no I/O would hold up every other connection until the last of them.
   */
  readonly #resume = (): void => {
    if (this.#isClosing || !this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  };
}

const nothing = Buffer.alloc(0);
