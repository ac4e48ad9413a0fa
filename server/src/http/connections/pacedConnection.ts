import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { PacedRequest } from "./pacedRequest.ts";

/** The most body bytes that may be missing when a request is answered early. If more are missing, the connection is closed. */
const maxUnreadBytes = 64 * 1024;
/** Reading from a connection stops while this number of its requests wait. */
const maxWaiting = 16;
/**
 * The most pipelined requests that wait in one process, about 2 KB each. One connection may hold as many as are still free (a
 * dynamic threshold), so that other connections always find room. A connection ends after the last request that found room.
 */
const maxWaitingInAll = 16_384;

/** Pipelined requests that wait, on all connections of a server. */
export interface Waiting {
  count: number;
}

export type Handler = (request: PacedRequest, response: ServerResponse) => void;

/** A request whose head was read, with its response. */
interface Exchange {
  request: PacedRequest;
  response: ServerResponse;
  handle: Handler;
  isAnswered: boolean;
  /** Whether the answer is sent even if the client has closed its side of the connection. */
  outlivesEnd: boolean;
}

/**
 * Handles the requests of one connection one after the other, even if the client pipelines them. Node's parser emits every
 * request of a received piece at once; all but the first wait here.
 */
export class PacedConnection {
  readonly #socket: Socket;
  readonly #inAll: Waiting;
  /** The request that was begun, and is not yet answered or not yet read to its end. */
  #current: Exchange | undefined;
  readonly #waiting: Exchange[] = [];
  #isPaused = false;
  /** The client has closed its side. */
  #hasEnded = false;
  #isClosing = false;
  /** Set when the connection must end after all requests are answered: the function that ends it. */
  #endBehind: (() => void) | undefined;

  constructor(socket: Socket, inAll: Waiting) {
    this.#socket = socket;
    this.#inAll = inAll;
    socket.once("close", this.#close).once("end", this.#onEnd);
    // Node calls it after an answer with `Connection: close`.
    socket.destroySoon = () => this.end();
  }

  /** Handles a request whose head was read: now, or after the requests before it. */
  begin(request: PacedRequest, response: ServerResponse, handle: Handler): void {
    if (this.#isClosing || this.#endBehind !== undefined) return;
    const exchange: Exchange = { request, response, handle, isAnswered: false, outlivesEnd: false };
    // If the current request was answered early, it has been read to its end, because this request follows it.
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

  /** Whether a request has been read to its end and is not answered. */
  isBusy(): boolean {
    return this.hasWaiting() || (this.#current?.request.complete === true && !this.#current.isAnswered);
  }

  /** Whether the service is working on an answer; false while it waits for the client to read one. */
  isWorking(): boolean {
    if (this.#current === undefined) return this.hasWaiting();
    const { request, response, isAnswered } = this.#current;
    // The fast path does not end its response, and may answer before the end of the request was parsed.
    return request.complete && !isAnswered && !response.writableEnded && !this.#socket.writableNeedDrain;
  }

  hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Lets the answer to the current request be sent even if the client has closed its side. */
  answerAfterEnd(): void {
    if (this.#current !== undefined) this.#current.outlivesEnd = true;
  }

  /** Whether the client has closed its side after the current request. */
  hasEnded(): boolean {
    return this.#hasEnded && !this.hasWaiting();
  }

  /** Whether the connection can be kept after an answer: false if too many bytes of the current request's body are missing. */
  canReadOn(): boolean {
    return this.#current === undefined || this.#current.request.unreadBytes() <= maxUnreadBytes;
  }

  /**
   * Refuses bytes that are no request: at once, or after the answers to the requests before them. A request that has not been
   * read to its end can no longer be answered.
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

  /** Ends the connection after the bytes that were written to it, and after `answer`. */
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

  /** Drops the framework's answer when the client ends its side, as Node does, so that a long poll notices the disconnect. */
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
      // In the next turn of the event loop: otherwise a thousand answers that need no I/O would delay other connections.
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

  /** Pauses the socket in a microtask, because Node resumes it at the end of each request, in the same turn. */
  #pause(): void {
    this.#isPaused = true;
    queueMicrotask(() => {
      if (this.#isPaused && !this.#isClosing) this.#socket.pause();
    });
  }
}

/** Limits of discarding what a client still sends: bytes in total, time in total, and time without any byte. */
const maxDiscardedBytes = 64 * 1024 * 1024;
const maxDiscardingMs = 30_000;
const maxPauseMs = 5_000;

/**
 * Writes the last bytes of a connection, ends this side, and discards what the client still sends, until the client ends its
 * side or a limit is reached. If a connection were closed with unread bytes, TCP would reset it, and the client would lose an
 * answer that it has not read yet (RFC 9112, section 9.6).
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
    // Removes the parser's listener.
    socket.removeAllListeners("data");
    socket.on("data", (piece: Buffer) => {
      pause.refresh();
      discardedBytes += piece.length;
      if (discardedBytes > maxDiscardedBytes) socket.destroy();
    });
  };
  // If the parser has paused the socket, the socket resumes only while the parser is still attached.
  if (socket.isPaused()) socket.once("resume", discard).resume();
  else discard();
  socket.on("end", () => socket.end());
  socket.on("error", () => socket.destroy());
  if (last === undefined) socket.end();
  else socket.end(last);
}
