/** What usage costs: 10 US cents for each started 1,000 items of a month; the first item counts. */
export const price = { currency: "usd", priceCents: 10, unitSize: 1000 } as const;

/** The units that a month's billable items come to. */
export function unitsOf(items: number): number {
  return Math.ceil(items / price.unitSize);
}

/** What a month's billable items cost, in US cents. */
export function centsOf(items: number): number {
  return unitsOf(items) * price.priceCents;
}
