import { type Check, itemCalls } from "./check.ts";

/** A publication has all of its items or none; a publication answered with 202 has all of them. */
export const publicationsAreWhole: Check = (history, facts) => {
  const stored = Map.groupBy(
    facts.items.filter(({ publicationId, isBillable }) => publicationId !== null && isBillable),
    ({ publicationId }) => publicationId!,
  );
  const known = new Map(facts.publications.map(({ id, itemIds }) => [id, itemIds]));
  const torn = [...new Set([...stored.keys(), ...known.keys()])].flatMap((id) => {
    const named = new Set(known.get(id) ?? []);
    const there = new Set((stored.get(id) ?? []).map((item) => item.id));
    return named.size === there.size && named.isSubsetOf(there)
      ? []
      : [`publication ${id} names ${named.size} items, and ${there.size} are stored`];
  });
  const missing = itemCalls(history)
    .filter(({ operation, outcome }) => operation.op === "publish" && outcome === "ok")
    .filter(({ output }) => !known.has(output.id!))
    .map(({ output }) => `publication ${output.id} was answered with 202 and is not stored`);
  return [...torn, ...missing];
};
