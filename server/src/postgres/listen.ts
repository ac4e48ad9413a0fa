import pg from "pg";
import type { Log } from "../telemetry/log.ts";
import { connectionOf } from "./hot/privateParts.ts";
import { limited } from "./hot/queryLimit.ts";

export type Listener = ReturnType<typeof listen>;

export interface ListenOptions {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  channel: string;
  /** For the log: the kind of notifications that are missed while the connection is down. */
  subject: string;
  hear: (payload: string) => void;
  /** Called after each connect, so that the caller can catch up on missed notifications. */
  onConnected: () => void;
  /** Interval of the queries that check whether the server still answers; 30 s by default. */
  askEveryMs?: number;
}

const firstDelayMs = 100;
const maxDelayMs = 5_000;
/** A server that is frozen, or was cut off and replaced, does not close the connection: only a query shows that it is gone. */
const usualAskEveryMs = 30_000;
const answerWithinMs = 5_000;
/** Time for an orderly end of the connection, before it is destroyed. */
const endWithinMs = 1_000;

/** Keeps one connection that listens on a channel of NOTIFY, outside of the pool, and reconnects whenever it is lost. */
export function listen(options: ListenOptions) {
  let isStopped = false;
  let client: pg.Client | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let askTimer: NodeJS.Timeout | undefined;
  let failures = 0;
  let connecting: Promise<void> = Promise.resolve();

  /** Any user of the database may send a notification with any payload. An exception here would end the process. */
  function hear({ payload = "" }: pg.Notification): void {
    try {
      options.hear(payload);
    } catch (error) {
      options.log.warn({ err: error }, `dropped a notification on ${options.channel} that cannot be read`);
    }
  }

  async function connect(): Promise<void> {
    // The pool's own options object: a copy would lose the password, which is not enumerable.
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
    next.on("notification", hear);
    try {
      await next.connect();
      // The session is idle between queries and notifications; a role's default timeout must not end it.
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
  /** Each payload has fewer than 8,000 bytes, PostgreSQL's limit. */
  payloads: readonly string[];
  /** The log message when the notifications could not be sent. */
  lost: string;
}

/** Sends notifications (NOTIFY) on a channel; when that fails, they are dropped with a warning. */
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
