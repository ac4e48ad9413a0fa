import pg from "pg";
import type { Log } from "../telemetry/log.ts";

export interface Listener {
  stop(): Promise<void>;
}

export interface ListenOptions {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  channel: string;
  /** For the log: what is missed while the connection is away. */
  subject: string;
  hear: (payload: string) => void;
  /** Called at each connect, to catch up on what was missed. */
  onConnected: () => void;
}

const firstDelayMs = 100;
const maxDelayMs = 5_000;

/** Keeps one connection beside the pool listening on a channel of NOTIFY, whatever happens to it. */
export function listen(options: ListenOptions): Listener {
  let isStopped = false;
  let client: pg.Client | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let failures = 0;
  let connecting: Promise<void> = Promise.resolve();

  async function connect(): Promise<void> {
    // The pool's own options, with the password that a copy would lose.
    const next = new pg.Client(options.pool.options);
    client = next;
    let isLost = false;
    const lose = (error?: Error): void => {
      if (isLost) return;
      isLost = true;
      void next.end().catch(() => undefined);
      if (isStopped) return;
      options.log.warn(
        { err: error },
        `lost the connection that listens for ${options.subject}; connecting again`,
      );
      const delayMs = Math.min(firstDelayMs * 2 ** failures++, maxDelayMs);
      retryTimer = setTimeout(() => {
        connecting = connect();
      }, delayMs);
    };
    next.on("error", lose);
    next.on("end", () => lose());
    next.on("notification", (message) => options.hear(message.payload ?? ""));
    try {
      await next.connect();
      await next.query(`listen ${options.channel}`);
      failures = 0;
      options.onConnected();
    } catch (error) {
      lose(error as Error);
    }
  }

  connecting = connect();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(retryTimer);
      await connecting;
      await client?.end().catch(() => undefined);
    },
  };
}
