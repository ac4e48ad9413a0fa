/** How far the service's clock is ahead of this machine's, in milliseconds. */
let aheadMs = 0;

/** The error of an answer's `Date`: it has whole seconds, and took time to arrive. */
const toleranceMs = 3000;

/** The service's time in Unix milliseconds: what it says is due, or held, is so by its clock, and this machine's may be wrong. */
export function serviceNowMs(): number {
  return Date.now() + aheadMs;
}

/** Learns the service's time from when it answered. */
export function learnServiceTime({ headers }: Response): void {
  const aheadNowMs = Date.parse(headers.get("date") ?? "") - Date.now();
  if (Math.abs(aheadNowMs - aheadMs) > toleranceMs)
    aheadMs = Math.abs(aheadNowMs) > toleranceMs ? aheadNowMs : 0;
}
