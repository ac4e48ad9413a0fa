import { randomBytes } from "node:crypto";
import type pg from "pg";
import { type Listener, listen, notify } from "../../postgres/listen.ts";
import type { Log } from "../../telemetry/log.ts";

export interface WakeupsDeps {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  wake: (mailboxIds: Iterable<string>) => void;
  /** Returns the mailboxes for which this node has waiters. */
  waitedFor: () => string[];
  retentionMs: number;
}

const channel = "postrider_messages";
const lost = "could not tell other nodes of new messages; their waiters poll";
/** The least time between two NOTIFY of a node. Commits with NOTIFY are serialized by one lock of the PostgreSQL server. */
const notifyIntervalMs = 50;
/** The most mailbox ids in a notification, whose payload is at most 8000 bytes. For more mailboxes it says "any". */
const maxNotifiedIds = 200;
/** The interval of polls, which find messages without a notification, such as those whose lease on another node has lapsed. */
const pollIntervalMs = 5_000;

/**
 * Notifies the nodes that share a database of claimable messages. Each node has one LISTEN connection. NOTIFY wakes the waiters.
 * Because a notification may get lost, each node also polls for all of its waiters in one statement every five seconds, except
 * while it has none.
 */
export function createWakeups(deps: WakeupsDeps) {
  const nodeId = randomBytes(8).toString("hex");
  const unannounced = new Set<string>();
  let notifyTimer: NodeJS.Timeout | undefined;
  let notifying: Promise<unknown> = Promise.resolve();
  let pollTimer: NodeJS.Timeout | undefined;
  let polling: Promise<unknown> = Promise.resolve();
  let listener: Listener | undefined;

  function announceElsewhere(): void {
    if (unannounced.size === 0) return;
    const ids = unannounced.size > maxNotifiedIds ? "any" : [...unannounced].join("");
    unannounced.clear();
    notifyTimer = setTimeout(() => {
      notifyTimer = undefined;
      announceElsewhere();
    }, notifyIntervalMs);
    notifying = notify(deps, { channel, payloads: [`${nodeId} ${ids}`], lost });
  }

  function hear(payload: string): void {
    const [sender, ids] = payload.split(" ");
    if (sender === nodeId || ids === undefined) return;
    deps.wake(ids === "any" ? deps.waitedFor() : (ids.match(/.{32}/g) ?? []));
  }

  return {
    start(): void {
      listener = listen({
        ...deps,
        channel,
        subject: "new messages",
        hear,
        onConnected: () => void poll(deps),
      });
      pollTimer = setInterval(() => {
        polling = poll(deps);
      }, pollIntervalMs);
    },
    /** Wakes the waiters of mailboxes with new or released messages: on this node at once, on other nodes within 50 ms. */
    announce(mailboxIds: Iterable<string>): void {
      const ids = [...mailboxIds];
      deps.wake(ids);
      for (const id of ids) unannounced.add(id);
      if (notifyTimer === undefined) announceElsewhere();
    },
    async stop(): Promise<void> {
      clearInterval(pollTimer);
      clearTimeout(notifyTimer);
      const earlier = notifying;
      // Without this, other nodes would find the latest messages only by their polls.
      announceElsewhere();
      clearTimeout(notifyTimer);
      await Promise.all([polling, earlier, notifying, listener?.stop()]);
    },
  };
}

/** Wakes those of this node's mailboxes that have claimable messages. */
async function poll(deps: WakeupsDeps): Promise<void> {
  const mailboxIds = deps.waitedFor();
  if (mailboxIds.length === 0) return;
  try {
    const { rows } = await deps.pool.query<{ mailbox_id: string }>({
      name: "poll_mailboxes",
      text: `with clock as materialized (
               select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
             )
             select i.mailbox_id
             from unnest($1::uuid[]) as i (mailbox_id)
             where exists (
                 select
                 from messages m
                 where m.bucket = get_byte(uuid_send(i.mailbox_id), 15)
                   and m.mailbox_id = i.mailbox_id
                   and m.state = 1
                   and m.id >= (select first_id_at(now_ms - $2) from clock)
               )
               or exists (
                 select
                 from messages m
                 where m.bucket = get_byte(uuid_send(i.mailbox_id), 15)
                   and m.mailbox_id = i.mailbox_id
                   and m.state <> 1
                   and m.claimable_at <= (select now_ms from clock)
               )`,
      values: [mailboxIds, deps.retentionMs],
    });
    deps.wake(rows.map((row) => row.mailbox_id));
  } catch (error) {
    deps.log.warn({ err: error }, "could not look for claimable messages; it is tried again");
  }
}
