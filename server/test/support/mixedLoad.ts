import { setTimeout as delay } from "node:timers/promises";
import type { Balancer } from "./balancer.ts";

/** The observations of senders and consumers. */
export interface MixedLoad {
  /** Ids answered with 202, by target. */
  accepted: Map<string, string[]>;
  /** Ids that a consumer has acknowledged, once per acknowledgement. */
  acknowledged: string[];
  /** Stops the senders, and the consumers once the mailbox is empty. */
  stop(): Promise<void>;
}

export interface MixedLoadOptions {
  balancer: Balancer;
  key: string;
  /** Items go to each target in turn; every second one has an idempotency key. */
  targetIds: readonly string[];
  /** One of the targets, a mailbox whose messages are claimed and acknowledged meanwhile. */
  mailboxId: string;
  senders: number;
  /** Pause of a sender between two items, milliseconds: a light load leaves the CPU to starting processes. */
  pauseMs: number;
  consumers: number;
}

interface Claim {
  messages: { id: string; claim_token: string }[];
}

/** Sends, claims and acknowledges until it is stopped, through the balancer. */
export function startMixedLoad(options: MixedLoadOptions): MixedLoad {
  const { balancer, key, targetIds, mailboxId } = options;
  const accepted = new Map<string, string[]>(targetIds.map((id) => [id, []]));
  const acknowledged: string[] = [];
  const stopping = new AbortController();
  let number = 0;

  async function send(): Promise<void> {
    while (!stopping.signal.aborted) {
      const item = number++;
      const targetId = targetIds[item % targetIds.length]!;
      const headers: Record<string, string> = item % 2 === 0 ? { "idempotency-key": `item-${item}` } : {};
      const answer = await balancer.post(`/t/${targetId}`, key, { item }, headers);
      if (answer !== undefined) accepted.get(targetId)!.push((answer as { id: string }).id);
      await delay(options.pauseMs);
    }
  }

  async function consume(): Promise<void> {
    for (;;) {
      const isLast = stopping.signal.aborted;
      const path = `/api/v1/mailboxes/${mailboxId}`;
      const claim = await balancer.post(`${path}/claim`, key, { max: 20, wait_seconds: 1 });
      const messages = (claim as Claim | undefined)?.messages ?? [];
      if (messages.length === 0 && isLast) return;
      if (messages.length === 0) continue;
      const tokens = messages.map(({ id, claim_token }) => ({ id, claim_token }));
      const answer = await balancer.post(`${path}/ack`, key, { messages: tokens });
      if (answer !== undefined) acknowledged.push(...messages.map(({ id }) => id));
    }
  }

  const senders = Promise.all(Array.from({ length: options.senders }, send));
  const consumers = Promise.all(Array.from({ length: options.consumers }, consume));
  return {
    accepted,
    acknowledged,
    async stop() {
      stopping.abort();
      await senders;
      await consumers;
    },
  };
}
