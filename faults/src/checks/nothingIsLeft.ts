import type { Check } from "./check.ts";

/** Promise 8: after faults have healed, nothing is due, leased or followed. */
export const nothingIsLeft: Check = (_history, { left }) =>
  Object.entries(left)
    .filter(([, count]) => count !== 0)
    .map(([what, count]) => `there are ${count} left: ${what}`);
