import type { EventEmitter } from "node:events";
import { Client, type Dispatcher } from "undici";
import type { Connect, Connected } from "./connect.ts";
import { createQueue, join, leave, type Queue, type Queued, takeFirst } from "../runtime/queue.ts";

export interface ConnectionsOptions {
  connect: Connect;
  /** Beyond it, requests to one origin wait for a connection to become free. */
  maxConnectionsPerOrigin: number;
  /** Idle connections kept over all origins; past it the one idle for longest is closed. */
  maxIdleConnections: number;
  keepAliveTimeoutMs: number;
}

/** One connection to one origin, carrying one request at a time. */
export interface Connection extends Queued<Connection> {
  readonly client: Client;
  readonly origin: Origin;
  /** Exchanges completed on the present socket; above 0 the peer may have closed it without our knowing. */
  exchanges: number;
  state: "busy" | "idle" | "closed";
  /** Ends a connect attempt; harmless once there is a socket. */
  giveUpConnecting: () => void;
}

interface Origin {
  readonly url: OriginUrl;
  open: number;
  /** The one used last is taken first, so that surplus ones grow old and close. */
  readonly idle: Connection[];
  readonly waiting: Queue<Job>;
}

/** A request that wants a connection. */
export interface Job extends Dispatcher.DispatchHandler, Queued<Job> {
  readonly originUrl: string;
  readonly options: Dispatcher.DispatchOptions;
  /** Set when the job is put on a connection. */
  connection: Connection | null;
  /** Called instead of a start when the service shuts down. */
  abandon(): void;
  /** Its answer is whole: tells whoever waits for it. Never throws. */
  end(): void;
}

const maxHeaderBytes = 16 * 1024;
/** A peer that promises to keep a connection for longer is not believed. */
const maxKeepAliveMs = 60_000;

/**
 * Keeps connections by origin. Each is an undici `Client` of its own rather than part of undici's `Pool`: the
 * stale-connection rule needs to know which socket a request went out on, idle ones are bounded over all origins, and
 * finding a free one costs the same with 1 and with 256 of them.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #origins = new Map<string, Origin>();
  /** Idle and busy ones; does not change while they are used again and again. */
  readonly #open = new Set<Connection>();
  /** Over all origins, the one idle for longest first. */
  readonly #idle: Queue<Connection> = createQueue();
  /** Whether undici is inside an answer, where no other connection may be given work; and the answer's, if free. */
  #isInAnswer = false;
  #inHand: Connection | null = null;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /**
   * Runs the job on an idle connection, a new one, or the next that becomes free. At the end of an answer, the first
   * job for its origin goes on at once on the same connection: undici then neither lets the connection go idle nor
   * looks whether an idle one has been closed.
   */
  start(job: Job): void {
    if (this.#isInAnswer) {
      this.#startInAnswer(job);
      return;
    }
    const connection = this.#origins.get(job.originUrl)?.idle.pop();
    if (connection === undefined) {
      this.startOnNew(job);
    } else {
      leave(this.#idle, connection);
      this.#run(connection, job);
    }
  }

  /** Runs the job on a new connection; where the origin's are used up, on the next that becomes free. */
  startOnNew(job: Job): void {
    if (this.#isClosed) {
      job.abandon();
      return;
    }
    const origin = this.#originOf(job.originUrl);
    if (origin.open < this.#options.maxConnectionsPerOrigin) {
      this.#run(this.#connect(origin), job);
    } else {
      join(origin.waiting, job);
    }
  }

  /** Takes a job back that still waits for a connection. */
  withdraw(job: Job): void {
    const origin = this.#origins.get(job.originUrl);
    if (origin !== undefined) {
      leave(origin.waiting, job);
    }
  }

  /** The job on this connection has its answer, whose end undici is telling us: ends it, and goes on. */
  release(connection: Connection, job: Job): void {
    const isOpen = connection.state !== "closed";
    connection.exchanges += 1;
    const next = isOpen ? takeFirst(connection.origin.waiting) : null;
    if (next !== null) {
      this.#run(connection, next);
    }
    this.#isInAnswer = true;
    this.#inHand = isOpen && next === null ? connection : null;
    job.end();
    this.#isInAnswer = false;
    const isFree = this.#inHand !== null;
    this.#inHand = null;
    if (isFree) {
      this.#rest(connection);
    }
  }

  #startInAnswer(job: Job): void {
    const connection = this.#inHand;
    if (
      connection !== null &&
      connection.state === "busy" &&
      connection.origin.url.origin === job.originUrl
    ) {
      this.#inHand = null;
      this.#run(connection, job);
    } else {
      queueMicrotask(() => this.start(job));
    }
  }

  #rest(connection: Connection): void {
    const { origin } = connection;
    if (connection.state === "closed") {
      return;
    }
    connection.state = "idle";
    origin.idle.push(connection);
    join(this.#idle, connection);
    if (this.#idle.length > this.#options.maxIdleConnections) {
      this.discard(this.#idle.first ?? connection);
    }
  }

  /** Closes the connection at once; what waits for the origin gets a new one in its place. */
  discard(connection: Connection): void {
    if (connection.state === "closed") {
      return;
    }
    const { origin } = connection;
    if (connection.state === "idle") {
      leave(this.#idle, connection);
      origin.idle.splice(origin.idle.indexOf(connection), 1);
    }
    this.#open.delete(connection);
    connection.state = "closed";
    connection.giveUpConnecting();
    void connection.client.destroy();
    origin.open -= 1;
    const next = takeFirst(origin.waiting);
    if (next !== null) {
      this.#run(this.#connect(origin), next);
    } else if (origin.open === 0) {
      this.#origins.delete(origin.url.origin);
    }
  }

  /** Abandons what waits and closes every connection; jobs on them end with an error. */
  close(): void {
    this.#isClosed = true;
    for (const origin of this.#origins.values()) {
      for (let job = takeFirst(origin.waiting); job !== null; job = takeFirst(origin.waiting)) {
        job.abandon();
      }
    }
    for (const connection of this.#open) {
      this.discard(connection);
    }
  }

  #run(connection: Connection, job: Job): void {
    connection.state = "busy";
    job.connection = connection;
    connection.client.dispatch(job.options, job);
  }

  #originOf(url: string): Origin {
    const known = this.#origins.get(url);
    if (known !== undefined) {
      return known;
    }
    const origin: Origin = { url: new OriginUrl(url), open: 0, idle: [], waiting: createQueue() };
    this.#origins.set(url, origin);
    return origin;
  }

  #connect(origin: Origin): Connection {
    const client = new Client(origin.url, {
      connect: ({ protocol, hostname, port }, connected) => {
        // undici types the callback's arguments as a pair of unions; ours keeps the same promise.
        const done = connected as Connected;
        connection.giveUpConnecting = this.#options.connect({ protocol, hostname, port }, done);
      },
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: this.#options.keepAliveTimeoutMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // The deadline of the exchange covers both; undici's own timers would cost one more per request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const giveUpConnecting = () => undefined;
    const connection: Connection = {
      client,
      origin,
      exchanges: 0,
      state: "busy",
      giveUpConnecting,
      ahead: null,
      behind: null,
    };
    client.on("connect", () => {
      connection.exchanges = 0;
    });
    client.on("disconnect", () => {
      // While busy, either the job sees the error itself or the client connects anew for it.
      if (connection.state === "idle") {
        this.discard(connection);
      }
    });
    // undici reports its own broken assertions here; without a listener they would end the process.
    (client as EventEmitter).on("error", () => this.discard(connection));
    origin.open += 1;
    this.#open.add(connection);
    return connection;
  }
}

/** undici asks for the origin with each request, and Node's own URL puts it together anew each time. */
class OriginUrl extends URL {
  override readonly origin: string;

  constructor(origin: string) {
    super(origin);
    this.origin = origin;
  }
}
