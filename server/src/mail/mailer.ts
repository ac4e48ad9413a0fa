import type { MailConfig } from "../config/mailSettings.ts";
import { QueueFullError } from "../runtime/groupCommit.ts";
import type { Log } from "../telemetry/log.ts";
import { createSmtpSender, describeMailFailure, type Mail } from "./sendBySmtp.ts";

/** Creates a mail when its turn comes; undefined when there is no recipient. */
type Prepare = () => Promise<Mail | undefined>;

export interface MailerDeps {
  config: MailConfig;
  log: Pick<Log, "warn" | "error">;
  /** Counts mails by their outcome. */
  count: (outcome: "sent" | "failed") => void;
  limits?: typeof defaultLimits;
}

const defaultLimits = {
  concurrency: 2,
  maxWaiting: 100,
  /** Maximum time for sending one mail. */
  sendLimitMs: 30_000,
  /** How long a stopping process continues to send. */
  stopLimitMs: 10_000,
};

export type Mailer = ReturnType<typeof createMailer>;

/** Sends mails in the background, a few at a time. The queue is in memory only, and a failed mail is not retried. */
export function createMailer({ config, log, count, limits = defaultLimits }: MailerDeps) {
  const { server, from, publicUrl } = config;
  const send = createSmtpSender(server, from);
  const waiting: Prepare[] = [];
  const inFlight = new Set<Promise<void>>();
  const end = new AbortController();

  async function prepareAndSend(prepare: Prepare): Promise<void> {
    const mail = await prepare().catch((error: unknown) => {
      count("failed");
      log.error({ err: error }, "a mail could not be prepared");
    });
    if (mail === undefined) return;
    try {
      await send(mail, AbortSignal.any([end.signal, AbortSignal.timeout(limits.sendLimitMs)]));
      count("sent");
    } catch (error) {
      count("failed");
      log.warn(describeMailFailure(error), "a mail could not be sent");
    }
  }

  function startNext(): void {
    if (inFlight.size >= limits.concurrency) return;
    const prepare = waiting.shift();
    if (prepare === undefined) return;
    const running = prepareAndSend(prepare).finally(() => {
      inFlight.delete(running);
      startNext();
    });
    inFlight.add(running);
  }

  function giveUp(): void {
    const dropped = waiting.splice(0).length;
    for (let index = 0; index < dropped; index++) count("failed");
    if (dropped > 0) log.warn({ mails: dropped }, "mails were not sent before the process ended");
    end.abort();
  }

  return {
    /** The base URL of links in mails. */
    publicUrl,
    /** Queues a mail. @throws {QueueFullError} when too many mails wait. */
    enqueue(prepare: Prepare): void {
      if (waiting.length >= limits.maxWaiting) throw new QueueFullError("too many mails wait");
      waiting.push(prepare);
      startNext();
    },
    /** Sends queued mails for `stopLimitMs` and drops the rest. */
    async stop(): Promise<void> {
      const timer = setTimeout(giveUp, limits.stopLimitMs);
      while (inFlight.size > 0) await Promise.all(inFlight);
      clearTimeout(timer);
    },
  };
}
