import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Agent, type buildConnector, Client, type Dispatcher, Pool } from "undici";

/** A request that wants a connection. */
export interface Job extends Dispatcher.DispatchHandler {
  /** Set when the job is put on a connection. */
  connection: Connection | null;
  /** Whether it has its result, because it gave up waiting, say: it is then not sent any more. */
  readonly hasEnded: boolean;
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
export class Transport extends Agent {
  readonly #connecting: ReadonlySet<() => void>;

  constructor(options: TransportOptions) {
    const idle: IdleConnections = { most: options.maxIdleConnections, connections: new Set() };
    // Functions that give up connection attempts: undici does not do so when it is destroyed.
    const connecting = new Set<() => void>();
    super({
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // The deadline of the exchange covers both; undici's own timers would cost one more per request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connectWith(options.connect, connecting),
      connections: options.maxConnectionsPerOrigin,
      factory: (origin, poolOptions: Pool.Options) =>
        new Pool(origin, {
          ...poolOptions,
          factory: (peer, clientOptions) => new Connection(peer, clientOptions, idle),
        }),
    });
    this.#connecting = connecting;
  }

  /** Fails whatever waits or is under way, and closes every connection. */
  end(): void {
    for (const giveUp of this.#connecting) giveUp();
    void this.destroy();
  }
}

/** undici's form of `connect`, which remembers attempts until they end. */
function connectWith(connect: Connect, connecting: Set<() => void>): buildConnector.connector {
  return ({ protocol, hostname, port }, connected) => {
    const giveUp = connect({ protocol, hostname, port }, (error, socket) => {
      connecting.delete(giveUp);
      // undici types the callback's arguments as a pair of unions; ours keeps the same promise.
      (connected as Connected)(error, socket);
    });
    connecting.add(giveUp);
  };
}

interface IdleConnections {
  most: number;
  /** In the order in which they became idle. */
  connections: Set<Connection>;
}

/** One connection to one origin: an undici `Client`, which connects anew when its socket was closed. */
class Connection extends Client {
  /** Exchanges completed on the present socket; above 0 the keep-alive race is possible. */
  exchanges = 0;
  readonly #idle: IdleConnections;
  #socket: Socket | null = null;

  /** @param idle Holds the connection while it is idle. */
  constructor(origin: string | URL, options: Client.Options, idle: IdleConnections) {
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
    this.on("disconnect", () => idle.connections.delete(this));
    // undici reports its own broken assertions here; without a listener they would end the process.
    (this as EventEmitter).on("error", () => undefined);
  }

  /** Called by the pool; true says that the connection can take another request. */
  override dispatch(options: Dispatcher.DispatchOptions, handler: Job): boolean {
    if (handler.hasEnded) return true;
    this.#idle.connections.delete(this);
    handler.connection = this;
    return super.dispatch(options, handler);
  }

  /** It is idle from now on, and past the bound the one idle for longest is closed. */
  endExchange(): void {
    this.exchanges += 1;
    const { most, connections } = this.#idle;
    connections.add(this);
    if (connections.size <= most) return;
    const [idleForLongest] = connections;
    connections.delete(idleForLongest!);
    idleForLongest!.#socket?.destroy();
  }
}
