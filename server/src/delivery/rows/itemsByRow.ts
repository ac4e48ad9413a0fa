/** An item with its row and the token of that row's lease. */
export interface RowItem {
  eventId: string;
  rowId: string;
  leaseToken: number;
}

export interface ItemsByRow {
  /** The items' indexes in the input, ordered by row, and within a row by item id. */
  order: number[];
  /** The id and the lease token of each row, ascending by id. */
  ids: string[];
  tokens: number[];
  /** Cumulative number of items up to and including each row. */
  ends: number[];
}

/** Groups items by row. Every statement locks rows in the order of their ids, so that two statements cannot deadlock. */
export function byRow(items: readonly RowItem[]): ItemsByRow {
  const parts = partsOfRows(items);
  const grouped: ItemsByRow = { order: [], ids: [], tokens: [], ends: [] };
  for (const { rowId, leaseToken, indexes } of parts.sort((one, other) =>
    one.rowId < other.rowId ? -1 : 1,
  )) {
    if (!isAscending(indexes, items)) {
      indexes.sort((one, other) => (items[one]!.eventId < items[other]!.eventId ? -1 : 1));
    }
    for (const index of indexes) grouped.order.push(index);
    grouped.ids.push(rowId);
    grouped.tokens.push(leaseToken);
    grouped.ends.push(grouped.order.length);
  }
  return grouped;
}

/** The items of one row under one lease, as indexes in the input. */
interface PartOfRow {
  rowId: string;
  leaseToken: number;
  indexes: number[];
}

/** Keyed by row and token, because one batch may contain attempts under an old and a new lease of the same row. */
function partsOfRows(items: readonly RowItem[]): PartOfRow[] {
  const parts = new Map<string, PartOfRow>();
  let part: PartOfRow | undefined;
  for (let index = 0; index < items.length; index++) {
    const { rowId, leaseToken } = items[index]!;
    // Neighbouring items mostly share their row.
    if (part?.rowId !== rowId || part.leaseToken !== leaseToken) {
      const name = `${rowId}${leaseToken}`;
      part = parts.get(name);
      if (part === undefined) parts.set(name, (part = { rowId, leaseToken, indexes: [] }));
    }
    part.indexes.push(index);
  }
  return [...parts.values()];
}

function isAscending(indexes: readonly number[], items: readonly RowItem[]): boolean {
  for (let at = 1; at < indexes.length; at++) {
    if (items[indexes[at - 1]!]!.eventId > items[indexes[at]!]!.eventId) return false;
  }
  return true;
}
