import { setTimeout as delay } from "node:timers/promises";
import type { Call, Operation } from "../history/history.ts";
import type { Caller } from "./caller.ts";

/** Targets of the senders. */
export interface Addresses {
  webhookIds: readonly string[];
  mailboxId: string;
  agentId: string;
  /** Null when the senders make no publications. */
  customer: string | null;
}

type Item = Extract<Operation, { op: "send" | "publish" }>;

/** Pause of a sender between two items, milliseconds. */
const pauseMs = { least: 15, most: 50 };
const retryPauseMs = 100;
const orderingKeys = ["k1", "k2", "k3", null];

/** Gives each item a number that is unique among all senders. */
export type NextNumber = () => number;

/**
 * Sends items until `stopping`. Every second item has an idempotency key and is sent again until it is answered as
 * accepted, also after `stopping`; every other item is sent once, whatever the outcome.
 */
export async function sendUntil(
  stopping: AbortSignal,
  caller: Caller,
  to: Addresses,
  nextNumber: NextNumber,
): Promise<void> {
  const { random } = caller;
  while (!stopping.aborted) {
    const item = drawItem(caller, to, nextNumber());
    let call = await post(caller, item);
    while (item.key !== null && call.outcome === "unknown") {
      await delay(retryPauseMs);
      call = await post(caller, item);
    }
    // Simulates a client that lost the answer and sends the item again.
    if (item.key !== null && random.chance(0.1)) await post(caller, item);
    await delay(call.outcome === "ok" ? random.integer(pauseMs.least, pauseMs.most) : retryPauseMs);
  }
}

function drawItem({ random }: Caller, to: Addresses, number: number): Item {
  const key = random.chance(0.5) ? `item-${number}` : null;
  const luck = random.integer(0, 99);
  if (luck < 15 && to.customer !== null) return { op: "publish", customer: to.customer, number, key };
  if (luck < 40) {
    const orderingKey = random.pick(orderingKeys);
    return { op: "send", targetId: to.mailboxId, number, key, orderingKey };
  }
  const targetId = luck < 47 ? to.agentId : random.pick(to.webhookIds);
  return { op: "send", targetId, number, key, orderingKey: null };
}

function post(caller: Caller, item: Item): Promise<Call> {
  const headers = {
    ...(item.key !== null && { "idempotency-key": item.key }),
    ...(item.op === "send" && item.orderingKey !== null && { "x-ordering-key": item.orderingKey }),
  };
  const path = item.op === "publish" ? `/p/${item.customer}` : `/t/${item.targetId}`;
  // `do` tells the agent how to handle the item; other targets ignore it.
  const body = { number: item.number, do: "complete" };
  return caller.ask(item, { method: "POST", path, body, headers }, (answer) => ({
    id: answer.id,
    ...(item.op === "publish" && { itemIds: answer.items.map(({ id }: { id: string }) => id) }),
  }));
}
