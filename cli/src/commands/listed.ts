import type { Input } from "../command.ts";

const mostListed = 100_000;

/** How many of a list are shown: what `--limit` says, 50 unless given. */
export function limitOf(input: Input): number {
  return input.number("limit", 1, mostListed) ?? 50;
}

/** The first of a list that comes page by page; all of it unless limited. */
export async function firstOf<T>(list: AsyncIterable<T>, limit: number = Infinity): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of list) {
    rows.push(row);
    if (rows.length === limit) break;
  }
  return rows;
}
