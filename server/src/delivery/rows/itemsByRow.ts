/** An item under the lease of its row. */
export interface HeldItem {
  eventId: string;
  rowId: string;
  leaseToken: number;
}

export interface ItemsByRow {
  /** The items' places in what was given: row by row, and in a row in ascending order of their ids. */
  order: number[];
  /** Of each row and lease, ascending. */
  ids: string[];
  tokens: number[];
  /** How many items there are up to and with each row. */
  ends: number[];
}

/** Rows go to the database in one order from everywhere, so that no two statements wait for each other in a circle. */
export function byRow(items: readonly HeldItem[]): ItemsByRow {
  const parts = partsOfRows(items);
  const grouped: ItemsByRow = { order: [], ids: [], tokens: [], ends: [] };
  for (const { rowId, leaseToken, places } of parts.sort((one, other) =>
    one.rowId < other.rowId ? -1 : 1,
  )) {
    if (!isAscending(places, items)) {
      places.sort((one, other) => (items[one]!.eventId < items[other]!.eventId ? -1 : 1));
    }
    for (const place of places) grouped.order.push(place);
    grouped.ids.push(rowId);
    grouped.tokens.push(leaseToken);
    grouped.ends.push(grouped.order.length);
  }
  return grouped;
}

/** The items of one row and lease, by their places in what was given. */
interface PartOfRow {
  rowId: string;
  leaseToken: number;
  places: number[];
}

/** A lease that has ended, and the next one of the same row, may end up in one batch. */
function partsOfRows(items: readonly HeldItem[]): PartOfRow[] {
  const parts = new Map<string, PartOfRow>();
  let part: PartOfRow | undefined;
  for (let place = 0; place < items.length; place++) {
    const { rowId, leaseToken } = items[place]!;
    // Neighbours mostly share their row.
    if (part?.rowId !== rowId || part.leaseToken !== leaseToken) {
      const name = `${rowId}${leaseToken}`;
      part = parts.get(name);
      if (part === undefined) parts.set(name, (part = { rowId, leaseToken, places: [] }));
    }
    part.places.push(place);
  }
  return [...parts.values()];
}

function isAscending(places: readonly number[], items: readonly HeldItem[]): boolean {
  for (let index = 1; index < places.length; index++) {
    if (items[places[index - 1]!]!.eventId > items[places[index]!]!.eventId) return false;
  }
  return true;
}
