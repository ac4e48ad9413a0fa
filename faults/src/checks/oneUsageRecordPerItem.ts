import type { Check } from "./check.ts";

/** 2. One usage record per accepted item, and none for anything else. */
export const oneUsageRecordPerItem: Check = (_history, { items, chargedItems }) => {
  const accepted = items.filter(({ isBillable }) => isBillable).length;
  return accepted === chargedItems ? [] : [`${accepted} items are stored and ${chargedItems} are charged`];
};
