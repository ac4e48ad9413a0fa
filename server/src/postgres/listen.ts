import pg from "pg";
import type { Log } from "../telemetry/log.ts";
import { connectionOf } from "./hot/privateParts.ts";
import { limited } from "./hot/queryLimit.ts";

export type Listener = ReturnType<typeof listen>;

export interface ListenOptions {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  channel: string;
  /** For the log: what is missed while the connection is away. */
  subject: string;
  hear: (payload: string) => void;
  /** Called at each connect, to catch up on what was missed. */
  onConnected: () => void;
  /** The interval at which the server is asked whether it still answers; 30 s by default. */
  askEveryMs?: number;
}

const firstDelayMs = 100;
const maxDelayMs = 5_000;
/** A server that is frozen, or was cut off and replaced, closes nothing: only a question shows that it is gone. */
const usualAskEveryMs = 30_000;
const answerWithinMs = 5_000;
/** For a connection to be closed in order, before it is cut. */
const endWithinMs = 1_000;

/** Keeps one connection beside the pool listening on a channel of NOTIFY, whatever happens to it. */
export function listen(options: ListenOptions) {
  let isStopped = false;
  let client: pg.Client | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let askTimer: NodeJS.Timeout | undefined;
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
      clearTimeout(askTimer);
      connectionOf(next).stream.destroy();
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
      // The session is idle unless it is asked or notified; a role's default must not end it.
      await next.query(limited(answerWithinMs, `set idle_session_timeout = 0; listen ${options.channel}`));
      failures = 0;
      askLater(next, lose);
      options.onConnected();
    } catch (error) {
      lose(error as Error);
    }
  }

  function askLater(asked: pg.Client, lose: (error: Error) => void): void {
    if (isStopped) return;
    askTimer = setTimeout(
      () => void asked.query(limited(answerWithinMs, "select 1")).then(() => askLater(asked, lose), lose),
      options.askEveryMs ?? usualAskEveryMs,
    );
  }

  connecting = connect();
  return {
    /** Resolves when the first connect has succeeded or failed. */
    triedOnce: connecting,
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(retryTimer);
      await connecting;
      clearTimeout(askTimer);
      if (client !== undefined) await endSoon(client);
    },
  };
}

async function endSoon(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => connectionOf(client).stream.destroy(), endWithinMs);
  await client.end().catch(() => undefined);
  clearTimeout(cut);
}

interface Notified {
  channel: string;
  /** PostgreSQL takes fewer than 8,000 bytes each. */
  payloads: readonly string[];
  /** The log's text when they could not be sent. */
  lost: string;
}

/** Sends notifications (NOTIFY) on a channel; those that cannot be sent are dropped with a warning. */
export async function notify(
  { pool, log }: { pool: pg.Pool; log: Pick<Log, "warn"> },
  { channel, payloads, lost }: Notified,
): Promise<void> {
  try {
    await pool.query({
      name: "notify",
      text: "select pg_notify($1, p.payload) from unnest($2::text[]) as p (payload)",
      values: [channel, payloads],
    });
  } catch (error) {
    log.warn({ err: error }, lost);
  }
}
