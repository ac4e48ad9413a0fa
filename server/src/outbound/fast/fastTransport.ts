import type { EventEmitter } from "node:events";
import { Client } from "undici";
import { createQueue, join, leave, type Queue, type Queued, takeFirst } from "../../runtime/queue.ts";
import {
  clientOptions,
  type Connected,
  type Job,
  type Transport,
  type TransportOptions,
  type UsedConnection,
} from "../transport/transport.ts";

/** One connection to one origin, carrying one request at a time. */
interface Connection extends UsedConnection, Queued<Connection> {
  readonly client: Client;
  readonly origin: Origin;
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

/**
 * Keeps connections by origin. Each is an undici `Client` of its own rather than part of undici's `Pool`: the
 * stale-connection rule needs to know which socket a request went out on, idle ones are bounded over all origins, and
 * finding a free one costs the same with 1 and with 256 of them.
 */
export class FastTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #origins = new Map<string, Origin>();
  /** Idle and busy ones; does not change while they are used again and again. */
  readonly #open = new Set<Connection>();
  /** Over all origins, the one idle for longest first. */
  readonly #idle: Queue<Connection> = createQueue();
  /** Whether undici is inside an answer, where no other connection may be given work; and the answer's, if free. */
  #isInAnswer = false;
  #inHand: Connection | null = null;
  #isClosed = false;

  constructor(options: TransportOptions) {
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
      this.#startOnNew(job);
    } else {
      leave(this.#idle, connection);
      this.#run(connection, job);
    }
  }

  /** On a new connection: other idle ones may be as stale as the one that broke. */
  startAgain(job: Job): void {
    this.#startOnNew(job);
  }

  /** Where the origin's connections are used up, on the next that becomes free. */
  #startOnNew(job: Job): void {
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

  withdraw(job: Job): void {
    const origin = this.#origins.get(job.originUrl);
    if (origin !== undefined) {
      leave(origin.waiting, job);
    }
  }

  release(job: Job): void {
    const connection = connectionOf(job);
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
      this.#close(this.#idle.first ?? connection);
    }
  }

  discard(job: Job): void {
    this.#close(connectionOf(job));
  }

  /** Closes the connection at once; what waits for the origin gets a new one in its place. */
  #close(connection: Connection): void {
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
      this.#close(connection);
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
      ...clientOptions(this.#options),
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
        this.#close(connection);
      }
    });
    // undici reports its own broken assertions here; without a listener they would end the process.
    (client as EventEmitter).on("error", () => this.#close(connection));
    origin.open += 1;
    this.#open.add(connection);
    return connection;
  }
}

/** Whatever connection a job has, `#run` put it there. */
function connectionOf(job: Job): Connection {
  return job.connection as Connection;
}

/** undici asks for the origin with each request, and Node's own URL puts it together anew each time. */
class OriginUrl extends URL {
  override readonly origin: string;

  constructor(origin: string) {
    super(origin);
    this.origin = origin;
  }
}
