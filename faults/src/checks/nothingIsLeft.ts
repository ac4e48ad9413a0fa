import type { Check } from "./check.ts";

/** 8. After faults have healed nothing is due, leased or followed any more. */
export const nothingIsLeft: Check = (_history, { left }) =>
  Object.entries(left)
    .filter(([, count]) => count !== 0)
    .map(([what, count]) => `there are ${count} left: ${what}`);
