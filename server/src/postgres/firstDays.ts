import { firstIdAt, idTimeMs } from "./ids.ts";
import { dayMs } from "./partitions.ts";

/** A part of a list that is sorted by ids: those between the two, without them. */
export interface PageRange {
  above?: string | undefined;
  below?: string | undefined;
  order: "desc" | "asc";
  limit: number;
}

/** How many days are looked at before all of them. */
const firstDays = [2, 32];

/**
 * Reads a page of tables that have a partition for each day. A statement plans and locks each partition that its range of ids
 * reaches, so the days where the page begins are read alone first. Most pages are full by then, and cost the same however many
 * days are stored.
 * @param read Reads the page within a range.
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
 * The bounds of the days where the range begins, as far as it has more of them. An ascending page without `above` begins on a day
 * that is not known.
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
