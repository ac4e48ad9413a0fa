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
  /** They include the origin. */
  options: Dispatcher.DispatchOptions;
  timeoutMs: number;
  bodyLimitBytes: number;
  repeatable: boolean;
}

const noHeaders: ExchangeHeaders = Object.freeze({});
const noBody = Buffer.alloc(0);

/**
 * One request and its answer, from dispatch to the end of the body that is read. It is undici's handler, the
 * deadline's item and the transport's job in one object, because this path runs for every delivery.
 *
 * Calls `ended` exactly once, after it was dispatched, and never throws: undici would turn a throw into an abort.
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
  /** Something of the request may have reached the peer. */
  #sent = false;
  /** It went out on a connection that had carried another exchange before. */
  #onUsedConnection = false;
  /** A first byte of an answer has come. */
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
    const seconds = this.timeoutMs / 1000;
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
    // undici frees the connection in a `setImmediate` of its own after this callback.
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
      // Once only: a peer may close every connection.
      this.#repeatable = false;
      this.#discard();
      this.connection = null;
      this.#controller = null;
      // The pool takes the first free connection in its list, which is the broken one: it opens a new socket, while other
      // idle sockets may have met the same race. Deferred: a synchronous dispatch would re-enter undici.
      queueMicrotask(() => this.#deps.transport.dispatch(this.options, this));
      return;
    }
    const progress = this.#status !== 0 ? "body" : this.#answering ? "headers" : "nothing";
    this.#fail(describeExchangeError(error, progress));
    if (this.connection !== null) this.#discard();
  }

  /**
   * The keep-alive race (RFC 9112, section 9.3.1): the peer closed a reused connection, mostly by its idle timeout,
   * while the request was under way and before any byte of an answer. The peer may have read it, so this is only for
   * requests that may arrive twice, as at-least-once deliveries may.
   */
  #isStale(error: Error): boolean {
    return this.#repeatable && this.#onUsedConnection && !this.#answering && isClosedByPeer(error);
  }

  /** Closes the connection at once; its next event is ignored. */
  #discard(): void {
    this.#controller?.abort(new Error("the connection is not wanted any more"));
  }

  /** Most answers come in one chunk, and an empty array would make room for many with the first. */
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

  /** Deferred to a microtask: a request dispatched here would re-enter undici's parser. */
  #endLater(result: ExchangeResult): void {
    if (this.#markEnded()) queueMicrotask(() => this.#ended(result));
  }

  /** Whether this is the first end. */
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
    // Node's type knows its own parser, which joins; undici's gives an array for a repeated header.
    const value = headers[name] as string | string[] | undefined;
    if (value !== undefined) picked[name] = typeof value === "string" ? value : value.join(", ");
  }
  return picked;
}
