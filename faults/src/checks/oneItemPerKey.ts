import { type Check, itemCalls } from "./check.ts";

/** Promise 3: one idempotency key gives one item, even after lost answers. */
export const oneItemPerKey: Check = (history, facts) => {
  const keyed = Map.groupBy(
    itemCalls(history).filter(({ operation }) => operation.key !== null),
    ({ operation }) => operation.number,
  );
  const answers = [...keyed].flatMap(([number, calls]) => {
    const ids = new Set(calls.flatMap(({ outcome, output }) => (outcome === "ok" ? [output.id!] : [])));
    return ids.size > 1
      ? [`the key of number ${number} was answered with several ids: ${[...ids].join(", ")}`]
      : [];
  });
  const own = facts.items.filter(({ isBillable, number }) => isBillable && keyed.has(number));
  const stored = [...Map.groupBy(own, ({ number, targetId }) => `${number} to ${targetId}`)]
    .filter(([, items]) => items.length > 1)
    .map(
      ([what, items]) =>
        `number ${what} has one key and is stored as ${items.map(({ id }) => id).join(", ")}`,
    );
  return [...answers, ...stored];
};
