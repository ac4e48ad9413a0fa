import { endStatuses } from "../facts/facts.ts";
import { acknowledgedIds, type Check, itemCalls } from "./check.ts";

/** 1. Each item answered with 202 is stored, and is delivered or has another visible end; a delivered webhook arrived. */
export const acceptedItemsEnd: Check = (history, facts) => {
  const stored = new Map(facts.items.map((item) => [item.id, item]));
  const lost = itemCalls(history)
    .flatMap((call) => acknowledgedIds(call).map((id) => ({ id, call })))
    .filter(({ id }) => !stored.has(id))
    .map(({ id, call }) => `item ${id} was answered with 202 to ${call.by} and is not stored`);
  const unended = facts.items
    .filter(({ status }) => status === null || !endStatuses.has(status))
    .map(({ id, status }) => `item ${id} has not ended: it reads as ${status ?? "nothing"}`);
  const arrived = new Set(
    history.receipts.filter(({ answered }) => answered !== "broken").map(({ id }) => id),
  );
  const attempted = new Map(facts.attempts.map((one) => [one.itemId, one]));
  const handedOver = new Set(facts.handoffs.map(({ itemId }) => itemId));
  const unseen = facts.items
    .filter(({ status }) => status === "DELIVERED")
    .filter(({ id }) => !arrived.has(id) && !handedOver.has(id))
    .map(({ id }) => `item ${id} reads as DELIVERED, and nobody got it`);
  const unrecorded = facts.items
    .filter(({ status, id }) => status === "DELIVERED" && attempted.get(id)?.delivered !== 1)
    .map(
      ({ id }) =>
        `item ${id} reads as DELIVERED with ${attempted.get(id)?.delivered ?? 0} delivering attempts on record`,
    );
  return [...lost, ...unended, ...unseen, ...unrecorded];
};
