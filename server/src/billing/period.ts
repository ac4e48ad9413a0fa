/** A UTC calendar month as the ledger names it: year × 100 + month, such as 202611. */
export type Period = number;

/** The month of a time in Unix milliseconds. */
export function periodOf(timeMs: number): Period {
  const date = new Date(timeMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** The first second of a month, and the first second after it, in Unix seconds. */
export function periodBounds(period: Period): { startSeconds: number; endSeconds: number } {
  const year = Math.floor(period / 100);
  const month = (period % 100) - 1;
  return { startSeconds: Date.UTC(year, month) / 1000, endSeconds: Date.UTC(year, month + 1) / 1000 };
}

/** The month `months` later, or earlier when negative. */
export function addMonths(period: Period, months: number): Period {
  const count = Math.floor(period / 100) * 12 + (period % 100) - 1 + months;
  return Math.floor(count / 12) * 100 + (count % 12) + 1;
}
