import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import type { ChangeType } from "../items/changes.ts";
import type { Caller } from "../http/contract/credentials.ts";
import type { NumberedFrame } from "./frameRing.ts";

export interface StreamOptions {
  caller: Caller;
  /** The types that the client requested; empty means all. */
  types: readonly ChangeType[];
  nodeTag: string;
  /** The response that carries the stream; it is finished when all data has left the process. */
  response: Pick<ServerResponse, "writableFinished" | "destroy">;
}

/** One client's stream of server-sent events (WHATWG HTML, section 9.2). */
export class OpenStream {
  readonly caller: Caller;
  readonly body = new PassThrough({ highWaterMark: bufferBytes });
  readonly #nodeTag: string;
  readonly #types: ReadonlySet<ChangeType>;
  readonly #response: StreamOptions["response"];
  /** The client reads too slowly and has missed frames. */
  #hasMissed = false;
  /** The buffer was full at the last heartbeat and has not drained since. */
  #isStuck = false;

  constructor({ caller, types, nodeTag, response }: StreamOptions) {
    this.caller = caller;
    this.#nodeTag = nodeTag;
    this.#types = new Set(types);
    this.#response = response;
    // The client has disconnected; the hub is notified by `close`.
    this.body.on("error", () => undefined);
    this.body.on("drain", () => (this.#isStuck = false));
  }

  /**
   * Sends the frames that the client requested. Drops them while the client's buffer is full, and tells the client when it has
   * room again.
   */
  send(frames: readonly NumberedFrame[]): void {
    if (this.body.writableNeedDrain) {
      this.#hasMissed = true;
      return;
    }
    let text = this.#hasMissed && frames.length > 0 ? this.#resetText(frames[0]!.id - 1, "slow") : "";
    this.#hasMissed &&= frames.length === 0;
    for (const frame of frames) {
      if (this.#wants(frame))
        text += `${this.#idLine(frame.id)}event: ${frame.type}\ndata: ${frame.data}\n\n`;
    }
    if (text !== "") this.body.write(text);
  }

  /** Sends the first bytes: they confirm the stream and contain the id to resume from. */
  begin(id: number): void {
    this.body.write(`${this.#idLine(id)}: open\n\n`);
  }

  reset(id: number, reason: ResetReason): void {
    this.body.write(this.#resetText(id, reason));
  }

  /**
   * Sends a heartbeat: a comment that keeps proxies from closing the connection and reveals a vanished client. A client that has
   * read nothing since the last heartbeat while its buffer was full is disconnected, which frees the memory; it may reconnect.
   */
  beat(): void {
    if (!this.body.writableNeedDrain) this.body.write(":\n\n");
    else if (this.#isStuck) this.#response.destroy();
    else this.#isStuck = true;
  }

  /**
   * Ends the stream; data that the client does not read soon is dropped.
   * @param reason Sent to the client. After `unauthorized`, it must not reconnect with this credential.
   */
  end(reason: "unauthorized" | "stopping"): void {
    this.body.end(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
    setTimeout(() => {
      if (!this.#response.writableFinished) this.#response.destroy();
    }, endingMs).unref();
  }

  #resetText(id: number, reason: ResetReason): string {
    return `${this.#idLine(id)}event: reset\ndata: ${JSON.stringify({ reason })}\n\n`;
  }

  #idLine(id: number): string {
    return `id: ${id}-${this.#nodeTag}\n`;
  }

  #wants({ type }: NumberedFrame): boolean {
    if (this.#types.size === 0 || type === "reset") return true;
    return type === "summary" ? this.#types.has("item") || this.#types.has("attempt") : this.#types.has(type);
  }
}

/** Maximum bytes that wait for a slow client. */
const bufferBytes = 64 * 1024;
/** How long the end of a stream may wait for its client. */
const endingMs = 1_000;

/**
 * Why a client must read everything again: its resume id is unknown here, or it was too slow. `GatheredChanges` has a third
 * reason, `many`.
 */
export type ResetReason = "unknown" | "slow";
