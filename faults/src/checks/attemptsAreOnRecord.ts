import type { Check } from "./check.ts";

/**
 * Attempts are numbered from 1 without a gap, at most one of them delivers, and an item with a delivering attempt
 * on record was answered with 200.
 */
export const attemptsAreOnRecord: Check = (history, facts) => {
  const misnumbered = facts.attempts
    .filter(({ numbers }) => numbers.some((number, index) => number !== index + 1))
    .map(({ itemId, numbers }) => `the attempts of ${itemId} are numbered ${numbers.join(", ")}`);
  const twice = facts.attempts
    .filter(({ delivered }) => delivered > 1)
    .map(({ itemId, delivered }) => `${itemId} has ${delivered} delivering attempts on record`);
  const reached = Map.groupBy(history.receipts, ({ id }) => id);
  // An attempt whose record was lost with its process is not counted, so fewer attempts may be on record than
  // arrived.
  const madeUp = facts.attempts
    .filter(({ itemId, delivered }) => {
      const answers = reached.get(itemId);
      return delivered > 0 && answers !== undefined && !answers.some(({ answered }) => answered === 200);
    })
    .map(({ itemId }) => `${itemId} has a delivering attempt on record and no receiver answered it with 200`);
  return [...misnumbered, ...twice, ...madeUp];
};
