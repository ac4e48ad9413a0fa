import { type Check, itemCalls } from "./check.ts";

/**
 * Every stored item was sent to its target, and is stored at most as often as requested; every delivered item is
 * stored.
 */
export const nothingIsInvented: Check = (history, facts) => {
  const requests = Map.groupBy(itemCalls(history), ({ operation }) => operation.number);
  const own = facts.items.filter(({ isBillable }) => isBillable);
  const unasked = own
    .filter(({ number, targetId }) => {
      const asked = requests.get(number) ?? [];
      return !asked.some(
        ({ operation, outcome }) =>
          outcome !== "fail" && (operation.op === "publish" || operation.targetId === targetId),
      );
    })
    .map(
      ({ id, number }) => `item ${id} is stored, but no request with number ${number} was sent to its target`,
    );
  const copies = [...Map.groupBy(own, ({ number, targetId }) => `${number} to ${targetId}`)]
    .filter(([, items]) => items.length > 1)
    // Items with an idempotency key are checked by `oneItemPerKey`.
    .filter(([, items]) => requests.get(items[0]!.number)?.[0]?.operation.key === null)
    .map(([what, items]) => `number ${what} was sent once and is stored ${items.length} times`);
  const stored = new Map(facts.items.map((item) => [item.id, item]));
  const strange = history.receipts
    .filter(({ id, number }) => stored.get(id)?.number !== number)
    .map(
      ({ id, number }) => `item ${id} (number ${number}) was delivered, but is not stored with that number`,
    );
  return [...unasked, ...copies, ...strange];
};
