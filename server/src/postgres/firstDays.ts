import { firstIdAt, idTimeMs } from "./ids.ts";
import { dayMs } from "./partitions.ts";

/** A page of a list that is sorted by ids: rows with ids between `above` and `below`, both exclusive. */
export interface PageRange {
  above?: string | undefined;
  below?: string | undefined;
  order: "desc" | "asc";
  limit: number;
}

/** Numbers of days that are read before all days are read. */
const firstDays = [2, 32];

/**
 * Reads a page of tables that have a partition for each day. A statement plans and locks each partition that its range of ids
 * reaches, so the days where the page begins are read alone first. Most pages are full by then, and cost the same however many
 * days are stored.
 * @param read reads the page within a range.
 */
export async function readFirstDays<Range extends PageRange, Row>(
  range: Range,
  read: (range: Range) => Promise<Row[]>,
): Promise<Row[]> {
  for (const days of firstDaysOf(range)) {
    const rows = await read({ ...range, ...days });
    if (rows.length === range.limit) return rows;
  }
  return read(range);
}

/**
 * The bounds of the first days of the range, as far as the range is longer. An ascending page without `above` begins on an
 * unknown day.
 */
function firstDaysOf({ above, below, order }: PageRange): Pick<PageRange, "above" | "below">[] {
  if (order === "asc" && above === undefined) return [];
  const nowMs = Date.now();
  const endMs = below === undefined ? nowMs : Math.min(idTimeMs(below), nowMs);
  const startMs = above === undefined ? 0 : idTimeMs(above);
  const lengths = firstDays.map((days) => days * dayMs).filter((ms) => startMs + ms < endMs);
  if (order === "desc") return lengths.map((ms) => ({ above: firstIdAt(endMs - ms) }));
  return lengths.map((ms) => ({ below: firstIdAt(startMs + ms) }));
}
