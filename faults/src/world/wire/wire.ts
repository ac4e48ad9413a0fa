import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { AnswerEnd } from "./answerEnd.ts";

/** A TCP proxy between two parties that can cause network faults on their connections. */
export interface Wire {
  /** Port on the loopback address to which one party connects. */
  port: number;
  /** Port of the other party; undefined while none listens. */
  to: number | undefined;
  /**
   * `pass` forwards; `refuse` breaks new connections and keeps existing ones; `freeze` accepts connections and
   * forwards nothing in either direction until the mode changes.
   */
  mode: "pass" | "refuse" | "freeze";
  /** Delay of all data in both directions, milliseconds. */
  delayMs: number;
  /** Breaks every connection at once. */
  cut(): void;
  /** Forwards the next request that matches `what`, and breaks its connection instead of forwarding the answer. */
  swallowAnswer(what: Swallow): void;
  /** Cancels the swallows that have not happened yet. */
  swallowNothing(): void;
  /** Number of answers swallowed so far. */
  swallowed(): number;
  stop(): Promise<void>;
}

export interface Swallow {
  /** Bytes that the request must contain; undefined for any request. */
  request: Buffer | undefined;
  /** Creates a detector of the end of an answer. */
  answerEnd: () => AnswerEnd;
}

export async function startWire(): Promise<Wire> {
  const links = new Set<Link>();
  const state: State = { mode: "pass", delayMs: 0, swallows: [], swallowed: 0 };
  const server = createServer({ pauseOnConnect: true }, (client) => {
    if (wire.to === undefined || state.mode === "refuse") {
      client.resetAndDestroy();
      return;
    }
    const link = new Link(client, connect(wire.to, "127.0.0.1"), state);
    links.add(link);
    link.onClose = () => links.delete(link);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const wire: Wire = {
    port: (server.address() as { port: number }).port,
    to: undefined,
    get mode() {
      return state.mode;
    },
    set mode(mode) {
      state.mode = mode;
      for (const link of links) link.resume();
    },
    get delayMs() {
      return state.delayMs;
    },
    set delayMs(ms) {
      state.delayMs = ms;
    },
    cut() {
      for (const link of links) link.break();
    },
    swallowAnswer: (what) => void state.swallows.push(what),
    swallowNothing: () => void state.swallows.splice(0),
    swallowed: () => state.swallowed,
    stop: () =>
      new Promise((resolve) => {
        for (const link of links) link.break();
        server.close(() => resolve());
      }),
  };
  return wire;
}

interface State {
  mode: Wire["mode"];
  delayMs: number;
  swallows: Swallow[];
  swallowed: number;
}

/** One connection through the wire. */
class Link {
  onClose: () => void = () => undefined;
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #state: State;
  /** Set while the current answer is swallowed; detects the answer's end. */
  #swallowing: AnswerEnd | undefined;
  #isOver = false;

  constructor(client: Socket, upstream: Socket, state: State) {
    this.#client = client;
    this.#upstream = upstream;
    this.#state = state;
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.break());
      socket.on("close", () => this.#finish());
    }
    this.#carry(client, upstream, (bytes) => this.#hearRequest(bytes));
    this.#carry(upstream, client, (bytes) => this.#hearAnswer(bytes));
    this.resume();
  }

  /** Applies the wire's current mode. */
  resume(): void {
    for (const socket of [this.#client, this.#upstream]) {
      if (this.#state.mode === "freeze") socket.pause();
      else socket.resume();
    }
  }

  break(): void {
    this.#client.resetAndDestroy();
    this.#upstream.resetAndDestroy();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.destroy();
    this.#upstream.destroy();
    this.onClose();
  }

  /** @param hear returns false for bytes that must not be forwarded. */
  #carry(from: Socket, to: Socket, hear: (bytes: Buffer) => boolean): void {
    const late: Buffer[] = [];
    from.on("data", (bytes: Buffer) => {
      if (!hear(bytes)) return;
      if (this.#state.delayMs === 0 && late.length === 0) {
        if (!to.write(bytes)) this.#awaitDrain(from, to);
        return;
      }
      late.push(bytes);
      if (late.length === 1) void this.#carryLate(late, to);
    });
    from.on("end", () => {
      if (late.length === 0) to.end();
      else late.push(Buffer.alloc(0));
    });
  }

  async #carryLate(late: Buffer[], to: Socket): Promise<void> {
    while (late.length > 0) {
      await delay(this.#state.delayMs);
      // All waiting bytes are as late as the first of them.
      const bytes = late[0]!;
      if (bytes.length === 0) to.end();
      else to.write(bytes);
      late.shift();
    }
  }

  #awaitDrain(from: Socket, to: Socket): void {
    from.pause();
    to.once("drain", () => this.resume());
  }

  #hearRequest(bytes: Buffer): boolean {
    const { swallows } = this.#state;
    const index = swallows.findIndex(({ request }) => request === undefined || bytes.includes(request));
    if (this.#swallowing === undefined && index !== -1) {
      this.#swallowing = swallows[index]!.answerEnd();
      swallows.splice(index, 1);
    }
    return true;
  }

  #hearAnswer(bytes: Buffer): boolean {
    if (this.#swallowing === undefined) return true;
    if (!this.#swallowing(bytes)) return false;
    this.#state.swallowed++;
    this.break();
    return false;
  }
}
