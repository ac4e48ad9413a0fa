import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { PacedRequest } from "./pacedRequest.ts";

/** Body bytes that may be missing when a request is answered early; with more, the connection is closed. */
const maxUnreadBytes = 64 * 1024;
/** The connection is not read while so many of its requests wait. */
const maxWaiting = 16;
/**
 * Pipelined requests that may wait in one process, about 2 KB each. A connection may hold as many as are still free
 * (a dynamic threshold), so that another always finds room; it ends behind the last that it could hold.
 */
const maxWaitingInAll = 16_384;

/** Pipelined requests that wait, on all connections of a server. */
export interface Waiting {
  count: number;
}

export type Handler = (request: PacedRequest, response: ServerResponse) => void;

/** A request whose head was read. */
interface Exchange {
  request: PacedRequest;
  response: ServerResponse;
  handle: Handler;
  isAnswered: boolean;
  /** True if its answer is sent although the client has closed its side of the connection. */
  outlivesEnd: boolean;
}

/**
 * Handles the requests of one connection one after the other, whatever its client pipelines. Node's parser begins every
 * request that a piece of the connection holds; those behind the first wait here.
 */
export class PacedConnection {
  readonly #socket: Socket;
  readonly #inAll: Waiting;
  /** Begun, and either not answered or not read to its end. */
  #current: Exchange | undefined;
  readonly #waiting: Exchange[] = [];
  #isPaused = false;
  /** The client has closed its side. */
  #hasEnded = false;
  #isClosing = false;
  /** Ends the connection once all requests are answered. */
  #endBehind: (() => void) | undefined;

  constructor(socket: Socket, inAll: Waiting) {
    this.#socket = socket;
    this.#inAll = inAll;
    socket.once("close", this.#close).once("end", this.#onEnd);
    // Node calls it behind an answer that says `Connection: close`.
    socket.destroySoon = () => this.end();
  }

  /** Takes a request whose head was read: handles it now, or after the requests before it. */
  begin(request: PacedRequest, response: ServerResponse, handle: Handler): void {
    if (this.#isClosing || this.#endBehind !== undefined) return;
    const exchange: Exchange = { request, response, handle, isAnswered: false, outlivesEnd: false };
    // A request that was answered early has been read to its end, because this one follows it.
    if (this.#waiting.length === 0 && this.#current?.isAnswered !== false) {
      this.#start(exchange);
    } else if (this.#waiting.length < maxWaitingInAll - this.#inAll.count) {
      this.#waiting.push(exchange);
      this.#inAll.count++;
      if (this.#waiting.length === maxWaiting) this.#pause();
    } else {
      this.#endBehind = () => this.end();
      this.#pause();
    }
  }

  /** True if a request has been read to its end and is not answered. */
  isBusy(): boolean {
    return this.hasWaiting() || (this.#current?.request.complete === true && !this.#current.isAnswered);
  }

  hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Lets the answer of the current request be sent although the client has closed its side. */
  answerAfterEnd(): void {
    if (this.#current !== undefined) this.#current.outlivesEnd = true;
  }

  /** True if the client has closed its side behind the current request. */
  hasEnded(): boolean {
    return this.#hasEnded && !this.hasWaiting();
  }

  /** False if so much of the current request's body is missing that an answer has to end the connection. */
  canReadOn(): boolean {
    return this.#current === undefined || this.#current.request.unreadBytes() <= maxUnreadBytes;
  }

  /**
   * Refuses bytes that are no request: at once, or behind the answers of the requests before them. A request that has not
   * been read to its end cannot be answered any more.
   */
  refuse(answer: string): void {
    if (this.#isClosing || this.#endBehind !== undefined) return;
    const current = this.#current;
    if (this.isBusy()) {
      this.#endBehind = () => this.end(answer);
      this.#pause();
    } else if (current !== undefined && current.response.headersSent) {
      this.end();
    } else {
      this.end(answer);
    }
  }

  /** Ends the connection behind the bytes that were written to it, and `answer`. */
  end(answer?: string): void {
    if (this.#isClosing) return;
    this.#close();
    endAndDiscard(this.#socket, answer);
  }

  readonly #close = (): void => {
    this.#isClosing = true;
    this.#inAll.count -= this.#waiting.length;
    this.#waiting.length = 0;
  };

  /** The framework's answers are dropped, as Node does: a long poll has to notice that its client is gone. */
  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    if (!this.hasWaiting() && this.#current?.outlivesEnd === false) this.#socket.end();
  };

  #start(exchange: Exchange): void {
    this.#current = exchange;
    exchange.response.on("close", this.#onAnswered);
    exchange.handle(exchange.request, exchange.response);
    if (this.#hasEnded) this.#onEnd();
  }

  readonly #onAnswered = (): void => {
    const current = this.#current;
    if (current === undefined || this.#isClosing) return;
    current.isAnswered = true;
    if (!this.canReadOn()) this.end();
    else if (current.request.complete) this.#next();
  };

  #next(): void {
    this.#current = undefined;
    if (this.hasWaiting()) {
      // In the next turn of the event loop: a thousand answers that wait for no I/O would hold up other connections.
      setImmediate(this.#startNext);
    } else if (this.#endBehind !== undefined) {
      this.#endBehind();
    } else if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }

  readonly #startNext = (): void => {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#inAll.count--;
    this.#start(next);
  };

  /** In a microtask: Node resumes the socket at the end of each request, in the same turn. */
  #pause(): void {
    this.#isPaused = true;
    queueMicrotask(() => {
      if (this.#isPaused && !this.#isClosing) this.#socket.pause();
    });
  }
}

/** Bytes that are read from a client that goes on sending, at most, for how long, and how long one may pause. */
const maxDiscardedBytes = 64 * 1024 * 1024;
const maxDiscardingMs = 30_000;
const maxPauseMs = 5_000;

/**
 * Writes the last bytes of a connection, ends this side, and discards what the client still sends, until the client
 * ends its side or a limit is reached. A connection that is closed with bytes unread is reset, and the client loses
 * the answer that it has not read yet (RFC 9112, section 9.6).
 */
function endAndDiscard(socket: Socket, last?: string): void {
  if (socket.destroyed) return;
  let discardedBytes = 0;
  const destroy = (): void => void socket.destroy();
  const whole = setTimeout(destroy, maxDiscardingMs).unref();
  const pause = setTimeout(destroy, maxPauseMs).unref();
  socket.once("close", () => {
    clearTimeout(whole);
    clearTimeout(pause);
  });
  const discard = (): void => {
    // The parser's listener.
    socket.removeAllListeners("data");
    socket.on("data", (piece: Buffer) => {
      pause.refresh();
      discardedBytes += piece.length;
      if (discardedBytes > maxDiscardedBytes) socket.destroy();
    });
  };
  // A socket that the parser has paused is read on only while the parser is still attached.
  if (socket.isPaused()) socket.once("resume", discard).resume();
  else discard();
  socket.on("end", () => socket.end());
  socket.on("error", () => socket.destroy());
  if (last === undefined) socket.end();
  else socket.end(last);
}
