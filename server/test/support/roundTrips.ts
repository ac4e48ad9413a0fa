import type pg from "pg";

/**
 * Number of statements that `work` sends over the connections of `pool`. Background statements in between are
 * counted, too.
 */
export async function roundTripsOf(pool: pg.Pool, work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const restore = new Map<pg.PoolClient, () => void>();
  const watch = (client: pg.PoolClient): void => {
    if (restore.has(client)) return;
    const query = client.query.bind(client) as (...input: unknown[]) => unknown;
    restore.set(client, () => Object.assign(client, { query }));
    Object.assign(client, {
      query: (...input: unknown[]): unknown => {
        count++;
        return query(...input);
      },
    });
  };
  pool.on("acquire", watch);
  try {
    await work();
  } finally {
    pool.off("acquire", watch);
    for (const undo of restore.values()) undo();
  }
  return count;
}

/** The minimum of three runs of {@link roundTripsOf}, because background statements may be counted in some. */
export async function leastRoundTripsOf(pool: pg.Pool, work: () => Promise<unknown>): Promise<number> {
  const counts: number[] = [];
  for (let run = 0; run < 3; run++) counts.push(await roundTripsOf(pool, work));
  return Math.min(...counts);
}
