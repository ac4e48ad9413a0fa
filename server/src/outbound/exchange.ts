import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { DeadlineLink, Deadlines, Expiring } from "../runtime/deadlines.ts";
import type { ExchangeHeaders, ExchangeResult } from "./exchangeResult.ts";
import { describeExchangeError, type Failure, isClosedByPeer } from "./failures.ts";
import type { Job, Transport } from "./transport.ts";

export interface ExchangeDeps {
  transport: Transport;
  deadlines: Deadlines;
}

export interface ExchangeInput {
  /** Include the origin. */
  options: Dispatcher.DispatchOptions;
  timeoutMs: number;
  bodyLimitBytes: number;
  repeatable: boolean;
}

const noHeaders: ExchangeHeaders = Object.freeze({});
const noBody = Buffer.alloc(0);

/**
 * One request and its answer, from dispatch to the end of the body that is read. One object serves as undici's handler, the
 * deadline's item and the transport's job, because this path runs for every delivery.
 *
 * Calls `ended` exactly once, after the request was dispatched, and never throws: undici would turn an exception into an abort.
 */
export class Exchange implements Job, Expiring {
  readonly options: Dispatcher.DispatchOptions;
  readonly timeoutMs: number;
  link: DeadlineLink | null = null;
  connection: Job["connection"] = null;
  hasEnded = false;

  readonly #deps: ExchangeDeps;
  readonly #ended: (result: ExchangeResult) => void;
  readonly #bodyLimitBytes: number;
  readonly #startedAtMs = performance.now();
  /** Set when undici begins to write the request. */
  #controller: Dispatcher.DispatchController | null = null;
  #repeatable: boolean;
  /** Part of the request may have reached the peer. */
  #sent = false;
  /** The request was sent on a connection that had already carried another exchange. */
  #onUsedConnection = false;
  /** The first byte of an answer has arrived. */
  #answering = false;
  #status = 0;
  #headers: ExchangeHeaders = noHeaders;
  #chunks: Buffer[] | null = null;
  #receivedBytes = 0;

  constructor(deps: ExchangeDeps, input: ExchangeInput, ended: (result: ExchangeResult) => void) {
    this.#deps = deps;
    this.#ended = ended;
    this.options = input.options;
    this.timeoutMs = input.timeoutMs;
    this.#bodyLimitBytes = input.bodyLimitBytes;
    this.#repeatable = input.repeatable;
  }

  expire(): void {
    const seconds = Math.round(this.timeoutMs) / 1000;
    if (this.connection === null) {
      this.#fail({ code: "local", message: `no free connection to the host within ${seconds} s` });
      return;
    }
    const message =
      this.#status === 0
        ? `no answer within ${seconds} s`
        : `the answer (${this.#status}) did not end within ${seconds} s`;
    this.#fail({ code: "timeout", message });
    this.#discard();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.hasEnded) {
      controller.abort(new Error("ended before it began"));
      return;
    }
    this.#controller = controller;
    this.#sent = true;
    this.#onUsedConnection = (this.connection?.exchanges ?? 0) > 0;
  }

  onResponseStarted(): void {
    this.#answering = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status >= 200) {
      this.#status = status;
      this.#headers = pickHeaders(headers);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.hasEnded) return;
    const roomBytes = this.#bodyLimitBytes - this.#receivedBytes;
    if (chunk.length <= roomBytes) {
      this.#receivedBytes += chunk.length;
      this.#keep(chunk);
      return;
    }
    this.#keep(chunk.subarray(0, roomBytes));
    this.#endLater(this.#answer(true));
    controller.abort(new Error("the rest of the body is not wanted"));
    this.#discard();
  }

  onResponseEnd(): void {
    if (this.hasEnded) return;
    this.connection?.endExchange();
    // undici frees the connection in its own `setImmediate` after this callback.
    queueMicrotask(() =>
      setImmediate(() => {
        const result = this.#answer(false);
        if (this.#markEnded()) this.#ended(result);
      }),
    );
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.hasEnded) return;
    if (this.#isStale(error)) {
      // Repeated only once, because a peer may close every connection.
      this.#repeatable = false;
      this.#discard();
      this.connection = null;
      this.#controller = null;
      // undici's pool takes the first free connection in its list. That is the broken one, which opens a new socket; other idle
      // sockets may have hit the same race. Deferred, because a synchronous dispatch would re-enter undici.
      queueMicrotask(() => this.#deps.transport.dispatch(this.options, this));
      return;
    }
    const progress = this.#status !== 0 ? "body" : this.#answering ? "headers" : "nothing";
    this.#fail(describeExchangeError(error, progress));
    if (this.connection !== null) this.#discard();
  }

  /**
   * The keep-alive race (RFC 9112, section 9.3.1): the peer closed a reused connection, mostly by its idle timeout, after the
   * request was sent and before the first byte of an answer. The peer may have read the request, so only a request that may
   * arrive twice is repeated (at-least-once).
   */
  #isStale(error: Error): boolean {
    return this.#repeatable && this.#onUsedConnection && !this.#answering && isClosedByPeer(error);
  }

  /** Closes the connection at once. The connection's next event is ignored. */
  #discard(): void {
    this.#controller?.abort(new Error("the connection is not wanted any more"));
  }

  /**
   * The array is created with its first chunk: most answers have one chunk, and pushing to an empty array allocates room for
   * many.
   */
  #keep(chunk: Buffer): void {
    if (this.#chunks === null) {
      this.#chunks = [chunk];
    } else {
      this.#chunks.push(chunk);
    }
  }

  #answer(truncated: boolean): ExchangeResult {
    return {
      kind: "response",
      status: this.#status,
      headers: this.#headers,
      body: joined(this.#chunks),
      truncated,
      durationMs: this.#durationMs(),
    };
  }

  #fail({ code, message }: Failure): void {
    const durationMs = this.#durationMs();
    this.#endLater({ kind: "error", code, message, durationMs, sent: this.#sent });
  }

  /** Deferred to a microtask: a request dispatched by `ended` would otherwise re-enter undici's parser. */
  #endLater(result: ExchangeResult): void {
    if (this.#markEnded()) queueMicrotask(() => this.#ended(result));
  }

  /** Marks the exchange as ended. @returns false if it had ended before. */
  #markEnded(): boolean {
    if (this.hasEnded) return false;
    this.hasEnded = true;
    this.#deps.deadlines.remove(this);
    return true;
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#startedAtMs);
  }
}

function joined(chunks: Buffer[] | null): Buffer {
  if (chunks === null) return noBody;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

const kept = [
  "retry-after",
  "location",
  "content-type",
  "etag",
  "cache-control",
  "age",
  "content-encoding",
] as const;

function pickHeaders(headers: IncomingHttpHeaders): ExchangeHeaders {
  const picked: ExchangeHeaders = {};
  for (const name of kept) {
    // Node's type describes Node's own parser, which joins repeated headers; undici gives an array.
    const value = headers[name] as string | string[] | undefined;
    if (value !== undefined) picked[name] = typeof value === "string" ? value : value.join(", ");
  }
  return picked;
}
