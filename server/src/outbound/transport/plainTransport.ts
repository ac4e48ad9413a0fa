import type { EventEmitter } from "node:events";
import { Agent, Client, Pool } from "undici";
import { clientOptions, type Connected, type Job } from "./transport.ts";
import type { Transport, TransportOptions, UsedConnection } from "./transport.ts";

/**
 * undici's own `Agent` with one `Pool` per origin. It lets each connection idle until its time is over, however many
 * there are (`maxIdleConnections` is not held), and a job that is started again may meet a second stale connection.
 */
export class PlainTransport implements Transport {
  readonly #agent: Agent;
  /** What gives up each connection that is being made: undici does not ask for it. */
  readonly #connecting = new Set<() => void>();

  constructor(options: TransportOptions) {
    this.#agent = new Agent({
      ...clientOptions(options),
      connections: options.maxConnectionsPerOrigin,
      connect: ({ protocol, hostname, port }, connected) => {
        // undici types the callback's arguments as a pair of unions; ours keeps the same promise.
        const done = connected as Connected;
        const giveUp = options.connect({ protocol, hostname, port }, (error, socket) => {
          this.#connecting.delete(giveUp);
          done(error, socket);
        });
        this.#connecting.add(giveUp);
      },
      factory: (origin, poolOptions: Pool.Options) =>
        new Pool(origin, { ...poolOptions, factory: (peer, each) => new CountingClient(peer, each) }),
    });
  }

  start(job: Job): void {
    this.#agent.dispatch({ ...job.options, origin: job.originUrl }, job);
  }

  /** Later: dispatching here would re-enter undici's parser. */
  startAgain(job: Job): void {
    queueMicrotask(() => this.start(job));
  }

  /** It stays in undici's queue, and aborts as soon as it is to be written. */
  withdraw(): void {}

  /** Once undici has freed the connection, which it does in a `setImmediate` of its own after this answer. */
  release(job: Job): void {
    if (job.connection !== null) job.connection.exchanges += 1;
    queueMicrotask(() => setImmediate(() => job.end()));
  }

  discard(job: Job): void {
    job.controller?.abort(new Error("the connection is not wanted any more"));
  }

  close(): void {
    for (const giveUp of this.#connecting) giveUp();
    void this.#agent.destroy();
  }
}

/** Tells each job which connection it is on. */
class CountingClient extends Client implements UsedConnection {
  exchanges = 0;

  constructor(origin: URL, options: object) {
    super(origin, options);
    this.on("connect", () => (this.exchanges = 0));
    // undici reports its own broken assertions here; without a listener they would end the process.
    (this as EventEmitter).on("error", () => undefined);
  }

  override dispatch(options: Job["options"], handler: Job): boolean {
    handler.connection = this;
    return super.dispatch(options, handler);
  }
}
