import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Agent, type buildConnector, Client, type Dispatcher, Pool } from "undici";

/** A request that wants a connection. */
export interface Job extends Dispatcher.DispatchHandler {
  readonly originUrl: string;
  readonly options: Dispatcher.DispatchOptions;
  /** Set when the job is put on a connection. */
  connection: Connection | null;
  /** Set when undici begins to write the request. */
  controller: Dispatcher.DispatchController | null;
  /** Whether it has its result, because it gave up waiting, say: it is then not sent any more. */
  readonly hasEnded: boolean;
  /** Called once its answer is complete. Never throws. */
  end(): void;
}

export interface TransportOptions {
  connect: Connect;
  /** Beyond it, requests to one origin wait for a connection to become free. */
  maxConnectionsPerOrigin: number;
  /** Idle connections kept over all origins; past it the one idle for longest is closed. */
  maxIdleConnections: number;
  /** How long an idle connection is kept when the peer does not say. */
  keepAliveTimeoutMs: number;
}

/** The other end, as undici describes it. */
export interface Peer {
  protocol: string;
  /** A name, or a literal address without brackets. */
  hostname: string;
  /** Empty for the protocol's own. */
  port: string;
}

export type Connected = (error: Error | null, socket: Socket | null) => void;

/** Opens a connection and returns a function that gives it up; after that, `connected` is not called. */
export type Connect = (peer: Peer, connected: Connected) => () => void;

const maxHeaderBytes = 16 * 1024;
/** A peer that promises to keep a connection for longer is not believed. */
const maxKeepAliveMs = 60_000;

/**
 * Puts requests on connections: undici's `Agent`, with one `Pool` per origin and one request at a time on each
 * connection. It adds a bound on idle connections over all origins, which undici does not have.
 */
export class Transport {
  readonly #agent: Agent;
  readonly #maxIdleConnections: number;
  /** In the order in which they became idle. */
  readonly #idle = new Set<Connection>();
  /** Functions that give up connection attempts: undici does not do so when it is destroyed. */
  readonly #connecting = new Set<() => void>();

  constructor(options: TransportOptions) {
    this.#maxIdleConnections = options.maxIdleConnections;
    this.#agent = new Agent({
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // The deadline of the exchange covers both; undici's own timers would cost one more per request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connectWith(options.connect),
      connections: options.maxConnectionsPerOrigin,
      factory: (origin, poolOptions: Pool.Options) =>
        new Pool(origin, {
          ...poolOptions,
          factory: (peer, clientOptions) => new Connection(peer, clientOptions, this.#idle),
        }),
    });
  }

  /** undici's form of `connect`, which remembers attempts until they end. */
  #connectWith(connect: Connect): buildConnector.connector {
    return ({ protocol, hostname, port }, connected) => {
      const giveUp = connect({ protocol, hostname, port }, (error, socket) => {
        this.#connecting.delete(giveUp);
        // undici types the callback's arguments as a pair of unions; ours keeps the same promise.
        (connected as Connected)(error, socket);
      });
      this.#connecting.add(giveUp);
    };
  }

  /** Runs the job on a connection to its origin, now or when one becomes free. */
  start(job: Job): void {
    this.#agent.dispatch({ ...job.options, origin: job.originUrl }, job);
  }

  /**
   * Runs the job once more, after its connection broke before any byte of an answer. The pool takes the first free
   * connection in its list, which is the broken one: it opens a new socket, while other idle sockets may have met the
   * same keep-alive race. Deferred: a synchronous dispatch would re-enter undici.
   */
  startAgain(job: Job): void {
    queueMicrotask(() => this.start(job));
  }

  /** The job's answer is complete, as undici is telling us: frees its connection, then ends the job. */
  release(job: Job): void {
    job.connection?.endExchange();
    if (this.#idle.size > this.#maxIdleConnections) {
      const [idleForLongest] = this.#idle;
      idleForLongest?.closeIdle();
    }
    // undici frees the connection in a `setImmediate` of its own after this callback.
    queueMicrotask(() => setImmediate(() => job.end()));
  }

  /** Closes the job's connection at once; its next event is ignored. */
  discard(job: Job): void {
    job.controller?.abort(new Error("the connection is not wanted any more"));
  }

  /** Fails whatever waits or is under way, and closes every connection. */
  close(): void {
    for (const giveUp of this.#connecting) giveUp();
    void this.#agent.destroy();
  }
}

/** One connection to one origin: an undici `Client`, which connects anew when its socket was closed. */
class Connection extends Client {
  /** Exchanges completed on the present socket; above 0 the keep-alive race is possible. */
  exchanges = 0;
  readonly #idle: Set<Connection>;
  #socket: Socket | null = null;

  /** @param idle Holds the connection while it is idle. */
  constructor(origin: string | URL, options: Client.Options, idle: Set<Connection>) {
    const connect = options.connect as buildConnector.connector;
    super(origin, {
      ...options,
      connect: (peer, connected) =>
        connect(peer, (...result) => {
          this.exchanges = 0;
          this.#socket = result[1];
          connected(...result);
        }),
    });
    this.#idle = idle;
    this.on("disconnect", () => idle.delete(this));
    // undici reports its own broken assertions here; without a listener they would end the process.
    (this as EventEmitter).on("error", () => undefined);
  }

  /** Called by the pool; true says that the connection can take another request. */
  override dispatch(options: Job["options"], handler: Job): boolean {
    if (handler.hasEnded) return true;
    this.#idle.delete(this);
    handler.connection = this;
    return super.dispatch(options, handler);
  }

  endExchange(): void {
    this.exchanges += 1;
    this.#idle.add(this);
  }

  closeIdle(): void {
    this.#idle.delete(this);
    this.#socket?.destroy();
  }
}
