/** The price: 10 US cents for each started 1,000 items of a month, from the first item on. */
export const price = { currency: "usd", priceCents: 10, unitSize: 1000 } as const;

/** The started units of a month's billable items. */
export function unitsOf(items: number): number {
  return Math.ceil(items / price.unitSize);
}

/** The cost of a month's billable items, in US cents. */
export function centsOf(items: number): number {
  return unitsOf(items) * price.priceCents;
}
