import type { IncomingHttpHeaders } from "node:http";
import type pg from "pg";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import type { ReadTurns } from "../http/contract/readTurns.ts";
import type { Mailboxes } from "./mailboxes.ts";
import type { ReadDeps } from "./message/findMailbox.ts";
import type { Consumer, ConsumerTraces } from "./traceConsumers.ts";

/** Dependencies of the routes of mailboxes. */
export interface MailboxRouteDeps {
  pool: pg.Pool;
  reads: ReadTurns;
  mailboxes: Mailboxes;
  consumerTraces?: ConsumerTraces | undefined;
  config: Pick<Config, "mailboxLeaseSeconds" | "mailboxRetentionSeconds">;
  /** Unix milliseconds. */
  nowMs: () => number;
}

/** Why claims are not in the audit log. */
export const claimAudit = { none: "the message keeps its own life, with the key that holds it" };

/** The consumer that made a request, for the traces of its messages. */
export function consumerOf(
  { nowMs, consumerTraces }: MailboxRouteDeps,
  key: string,
  { headers }: { headers: IncomingHttpHeaders },
): Consumer {
  return { key, headers, startMs: consumerTraces === undefined ? 0 : nowMs() };
}

export function readDeps({ pool, config }: MailboxRouteDeps): ReadDeps {
  return { pool, retentionMs: mailboxRetentionMs(config) };
}
