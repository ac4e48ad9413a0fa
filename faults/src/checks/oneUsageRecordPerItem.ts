import type { Check } from "./check.ts";

/** Promise 2: one usage record per accepted item, and no other usage records. */
export const oneUsageRecordPerItem: Check = (_history, { items, chargedItems }) => {
  const accepted = items.filter(({ isBillable }) => isBillable).length;
  return accepted === chargedItems ? [] : [`${accepted} items are stored and ${chargedItems} are charged`];
};
