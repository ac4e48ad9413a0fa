import type pg from "pg";
import type { Log } from "../telemetry/log.ts";

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
