import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Agent, type buildConnector, Client, type Dispatcher, Pool } from "undici";

/** A request that needs a connection. */
export interface Job extends Dispatcher.DispatchHandler {
  /** Set when the job is assigned to a connection. */
  connection: Connection | null;
  /** Whether the job has its result, for example because it stopped waiting; it is then not sent any more. */
  readonly hasEnded: boolean;
}

export interface TransportOptions {
  connect: Connect;
  /** Maximum connections to one origin; further requests wait for a free one. */
  maxConnectionsPerOrigin: number;
  /** Maximum idle connections over all origins; above it, the one idle for longest is closed. */
  maxIdleConnections: number;
  /** How long an idle connection is kept if the peer sends no hint. */
  keepAliveTimeoutMs: number;
}

/** The other end of a connection, as undici describes it. */
export interface Peer {
  protocol: string;
  /** A host name, or a literal address without brackets. */
  hostname: string;
  /** Empty for the protocol's default port. */
  port: string;
}

export type Connected = (error: Error | null, socket: Socket | null) => void;

/** Opens a connection. The returned function aborts the attempt; after that, `connected` is not called. */
export type Connect = (peer: Peer, connected: Connected) => () => void;

const maxHeaderBytes = 16 * 1024;
/** Limit for the keep-alive time that a peer announces. */
const maxKeepAliveMs = 60_000;

/**
 * Assigns requests to connections: undici's `Agent`, with one `Pool` per origin and one request at a time per connection. It
 * adds a limit on idle connections over all origins, which undici does not have.
 */
export class Transport extends Agent {
  readonly #connecting: ReadonlySet<() => void>;

  constructor(options: TransportOptions) {
    const idle: IdleConnections = { most: options.maxIdleConnections, connections: new Set() };
    // Functions that abort connection attempts, because undici does not abort them when it is destroyed.
    const connecting = new Set<() => void>();
    super({
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // The deadline of the exchange covers both; undici's own timers would add the cost of another timer to each request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connectWith(options.connect, connecting),
      connections: options.maxConnectionsPerOrigin,
      factory: (origin, poolOptions: Pool.Options) =>
        removedWhenUnused(
          new Pool(origin, {
            ...poolOptions,
            factory: (peer, clientOptions) => new Connection(peer, clientOptions, idle),
          }),
        ),
    });
    this.#connecting = connecting;
  }

  /** Ends all waiting and running requests with errors, and closes every connection. */
  end(): void {
    for (const giveUp of this.#connecting) giveUp();
    void this.destroy();
  }
}

/**
 * undici removes an origin's pool after its last connection, but not if that connection was aborted: at that event, the aborted
 * request still counts as waiting. So the event is repeated when undici has dropped the request.
 */
function removedWhenUnused(pool: Pool): Pool {
  return pool.on("disconnect", (origin, targets, error) => {
    if (targets.length > 0) queueMicrotask(() => pool.emit("disconnect", origin, [], error));
  });
}

/** Wraps `connect` in undici's form and tracks attempts until they end. */
function connectWith(connect: Connect, connecting: Set<() => void>): buildConnector.connector {
  return ({ protocol, hostname, port }, connected) => {
    const giveUp = connect({ protocol, hostname, port }, (error, socket) => {
      connecting.delete(giveUp);
      // undici types the callback's arguments as a pair of unions; this code keeps the same contract.
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

/** One connection to one origin: an undici `Client`, which reconnects after its socket was closed. */
class Connection extends Client {
  /** Exchanges completed on the current socket; above 0 the keep-alive race is possible. */
  exchanges = 0;
  readonly #idle: IdleConnections;
  #socket: Socket | null = null;

  /** @param idle The set that contains the connection while it is idle. */
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
    // undici emits its own failed assertions as `error`; without a listener they would end the process.
    (this as EventEmitter).on("error", () => undefined);
  }

  /** Called by the pool. @returns true: the connection can take another request. */
  override dispatch(options: Dispatcher.DispatchOptions, handler: Job): boolean {
    if (handler.hasEnded) return true;
    this.#idle.connections.delete(this);
    handler.connection = this;
    return super.dispatch(options, handler);
  }

  /** Marks the connection as idle. Above the limit, the one idle for longest is closed. */
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
