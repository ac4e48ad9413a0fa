import type { Input, Option } from "../command.ts";

const mostListed = 100_000;

export const limitOption: Option = {
  value: "N",
  help: `maximum number, 1 to ${mostListed}; default: 50`,
};

/** Number of rows to list: `--limit`, or 50. */
export function limitOf(input: Input): number {
  return input.number("limit", 1, mostListed) ?? 50;
}

/** Returns the first `limit` entries of a list that is read page by page; without a limit, all of them. */
export async function firstOf<T>(list: AsyncIterable<T>, limit: number = Infinity): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of list) {
    rows.push(row);
    if (rows.length === limit) break;
  }
  return rows;
}
