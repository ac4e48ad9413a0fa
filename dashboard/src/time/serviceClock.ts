/** How far the service's clock is ahead of this machine's, in milliseconds. */
let aheadMs = 0;

/** Tolerance for a `Date` header, which has whole seconds and took time to arrive. */
const toleranceMs = 3000;

/**
 * The service's time in Unix milliseconds. Due times and leases follow the service's clock, and this machine's clock may be
 * wrong.
 */
export function serviceNowMs(): number {
  return Date.now() + aheadMs;
}

/** Learns the service's time from the `Date` header of a response. */
export function learnServiceTime({ headers }: Response): void {
  const aheadNowMs = Date.parse(headers.get("date") ?? "") - Date.now();
  if (Math.abs(aheadNowMs - aheadMs) > toleranceMs)
    aheadMs = Math.abs(aheadNowMs) > toleranceMs ? aheadNowMs : 0;
}
