import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import type { ChangeType } from "../items/changes.ts";
import type { Caller } from "../http/contract/credentials.ts";
import type { NumberedFrame } from "./frameRing.ts";

export interface StreamOptions {
  caller: Caller;
  /** The types that the client asked for; empty means all. */
  types: readonly ChangeType[];
  nodeTag: string;
  /** The readable stream that is sent; it ends when everything has left the process. */
  response: Pick<ServerResponse, "writableFinished" | "destroy">;
}

/** One client's stream, in the form of server-sent events (WHATWG HTML, section 9.2). */
export class OpenStream {
  readonly caller: Caller;
  readonly body = new PassThrough({ highWaterMark: bufferBytes });
  readonly #nodeTag: string;
  readonly #types: ReadonlySet<ChangeType>;
  readonly #response: StreamOptions["response"];
  /** The client does not read as fast as things happen, and has missed some. */
  #hasMissed = false;
  /** The buffer was full at the last beat, and has not been emptied since. */
  #isStuck = false;

  constructor({ caller, types, nodeTag, response }: StreamOptions) {
    this.caller = caller;
    this.#nodeTag = nodeTag;
    this.#types = new Set(types);
    this.#response = response;
    // The client has gone; the hub hears of it by `close`.
    this.body.on("error", () => undefined);
    this.body.on("drain", () => (this.#isStuck = false));
  }

  /** Sends what the client asked for; drops it when the client's buffer is full, and says so when it has room again. */
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

  /** The first bytes: they tell the client that it is heard, and where it stands. */
  begin(id: number): void {
    this.body.write(`${this.#idLine(id)}: open\n\n`);
  }

  reset(id: number, reason: ResetReason): void {
    this.body.write(this.#resetText(id, reason));
  }

  /**
   * A comment, so that proxies keep the connection and a vanished client is noticed. A client that has read nothing
   * since the last one, with its buffer full, is cut off: it may come back, and holds memory no longer.
   */
  beat(): void {
    if (!this.body.writableNeedDrain) this.body.write(":\n\n");
    else if (this.#isStuck) this.#response.destroy();
    else this.#isStuck = true;
  }

  /**
   * Data that the client does not read soon is dropped.
   * @param reason Told to the client, which is not to come back with this credential when it was `unauthorized`.
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

/** Bytes that may wait for a slow client. */
const bufferBytes = 64 * 1024;
/** How long the end of a stream may wait for its client. */
const endingMs = 1_000;

/**
 * Why a client is to read everything again: where it resumes from is not known here, or it was too slow. `GatheredChanges` gives a
 * third reason, `many`.
 */
export type ResetReason = "unknown" | "slow";
