import { setTimeout as delay } from "node:timers/promises";
import type { Balancer } from "../../../server/test/support/balancer.ts";

/** The times of one request, by `performance.now()`. */
export interface Seen {
  /** The time at which it was due; it may have been sent later. */
  dueMs: number;
  answeredMs: number;
}

/** Observations of clients that send items at a fixed rate, and of consumers that claim and acknowledge. */
export interface Seens {
  mailboxId: string;
  /** Accepted items. */
  sent: Seen[];
  /** Claims and acknowledgements. */
  claimed: Seen[];
  /** Ids of accepted items, by target. */
  accepted: Map<string, string[]>;
  acknowledged: string[];
}

export interface Traffic extends Seens {
  /** Stops the senders, and the consumers once the mailbox is empty. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  balancer: Balancer;
  key: string;
  /** Items go to the targets in turn. */
  targetIds: readonly string[];
  /** The target that is a mailbox. */
  mailboxId: string;
  itemsPerSecond: number;
  consumers: number;
}

interface Claim {
  messages: { id: string; claim_token: string }[];
}

const tickMs = 2;
/** The pause before a consumer asks an empty mailbox again. Claims are no long polls, because their answer time is measured. */
const emptyPauseMs = 50;
const data = "x".repeat(440);

export function startTraffic(options: TrafficOptions): Traffic {
  const { targetIds, mailboxId, consumers } = options;
  const seens: Seens = {
    mailboxId,
    sent: [],
    claimed: [],
    accepted: new Map(targetIds.map((id) => [id, []])),
    acknowledged: [],
  };
  const stopping = new AbortController();
  const sending = send(options, seens, stopping.signal);
  const consuming = Array.from({ length: consumers }, () => consume(options, seens, stopping.signal));
  return {
    ...seens,
    async stop() {
      stopping.abort();
      await sending;
      await Promise.all(consuming);
    },
  };
}

async function send(options: TrafficOptions, { sent, accepted }: Seens, stopped: AbortSignal): Promise<void> {
  const { balancer, key, targetIds, itemsPerSecond } = options;
  const inFlight = new Set<Promise<void>>();
  const sendOne = async (number: number, dueMs: number): Promise<void> => {
    const targetId = targetIds[number % targetIds.length]!;
    const answer = await balancer.post(`/t/${targetId}`, key, { event_type: "order.created", data });
    if (answer === undefined) return;
    sent.push({ dueMs, answeredMs: performance.now() });
    accepted.get(targetId)!.push((answer as { id: string }).id);
  };
  const beganMs = performance.now();
  for (let number = 0; !stopped.aborted; await delay(tickMs)) {
    for (;;) {
      const dueMs = beganMs + (number * 1_000) / itemsPerSecond;
      if (dueMs > performance.now()) break;
      const one = sendOne(number++, dueMs);
      inFlight.add(one);
      void one.finally(() => inFlight.delete(one));
    }
  }
  await Promise.all(inFlight);
}

async function consume(
  { balancer, key, mailboxId }: TrafficOptions,
  { claimed, acknowledged }: Seens,
  stopped: AbortSignal,
): Promise<void> {
  const timed = async (path: string, body: object): Promise<unknown> => {
    const dueMs = performance.now();
    const answer = await balancer.post(`/api/v1/mailboxes/${mailboxId}/${path}`, key, body);
    if (answer !== undefined) claimed.push({ dueMs, answeredMs: performance.now() });
    return answer;
  };
  for (;;) {
    const isLast = stopped.aborted;
    const claim = (await timed("claim", { max: 20 })) as Claim | undefined;
    const messages = claim?.messages ?? [];
    if (messages.length > 0) {
      const tokens = messages.map(({ id, claim_token }) => ({ id, claim_token }));
      if ((await timed("ack", { messages: tokens })) !== undefined)
        acknowledged.push(...messages.map(({ id }) => id));
    } else if (isLast) return;
    else await delay(emptyPauseMs);
  }
}
