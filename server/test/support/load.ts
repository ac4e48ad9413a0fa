import { setTimeout as delay } from "node:timers/promises";
import type { ServiceProcess } from "./serviceProcess.ts";
import type { Account } from "./testNode.ts";

/** An item and its outcome, as its sender knows it. */
export interface Sent {
  /** The id in the 202 answer; undefined until the item is answered as accepted. */
  id?: string;
  /** Ids of a publication's items. */
  itemIds?: string[];
  idempotencyKey: string | undefined;
  targetId: string;
}

export interface Load {
  /** Everything sent so far, acknowledged or not. */
  sent: Sent[];
  /** Ids of items answered with 202. */
  acknowledged(): string[];
  /** Unexpected answers (neither 202 nor 503), with status and message. */
  unexpected: string[];
  /** Number of answers with 503. */
  refusals(): number;
  stop(): Promise<void>;
}

export interface LoadOptions {
  /** The service for the next request; called for each request, because services start and end. */
  service: () => Pick<ServiceProcess, "url">;
  account: Pick<Account, "api_key">;
  targetIds: readonly string[];
  senders: number;
  /** Uid of a customer to whom every fifth request publishes. */
  customer?: string;
}

/** Every n-th request is a publication. */
const publicationEvery = 5;

/*
 * Pauses between two attempts at an item, and between two items of a sender, milliseconds: a light load that
 * leaves the CPU to the processes that are killed and restarted.
 */
const retryPauseMs = 100;
const pauseMs = 30;

/**
 * Sends items until it is stopped, as a careful client does: every second item has an idempotency key and is
 * repeated until it is answered with 202; the others are sent once, whatever the outcome.
 */
export function startLoad({ service, account, targetIds, senders, customer }: LoadOptions): Load {
  const sent: Sent[] = [];
  const unexpected: string[] = [];
  let refused = 0;
  const stopping = new AbortController();

  /** @returns whether the item is accepted; false when that is unknown. */
  async function attempt(item: Sent, number: number): Promise<boolean> {
    try {
      const isPublished = customer !== undefined && number % publicationEvery === 0;
      const path = isPublished ? `/p/${customer}` : `/t/${item.targetId}`;
      const response = await fetch(`${service().url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${account.api_key}`,
          "content-type": "application/json",
          ...(item.idempotencyKey !== undefined && { "idempotency-key": item.idempotencyKey }),
        },
        body: JSON.stringify({ number }),
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      if (response.status === 202) {
        const answer = JSON.parse(text) as { id: string; items?: { id: string }[] };
        item.id = answer.id;
        if (isPublished) item.itemIds = answer.items!.map(({ id }) => id);
      } else if (response.status === 503) refused++;
      else unexpected.push(`${response.status} ${text}`);
      return response.status === 202;
    } catch {
      return false;
    }
  }

  async function sendOn(): Promise<void> {
    while (!stopping.signal.aborted) {
      const number = sent.length;
      const isKeyed = number % 2 === 0;
      const item: Sent = {
        idempotencyKey: isKeyed ? `item-${number}` : undefined,
        targetId: targetIds[number % targetIds.length]!,
      };
      sent.push(item);
      while (!(await attempt(item, number))) {
        await delay(retryPauseMs);
        if (!isKeyed) break;
      }
      await delay(pauseMs);
    }
  }

  const ended = Promise.all(Array.from({ length: senders }, sendOn));
  return {
    sent,
    unexpected,
    acknowledged: () => sent.flatMap(({ id, itemIds }) => itemIds ?? (id === undefined ? [] : [id])),
    refusals: () => refused,
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
