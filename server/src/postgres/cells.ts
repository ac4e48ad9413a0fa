import type pg from "pg";
import { bucketOf } from "./ids.ts";
import { CellRoute } from "./cellRoute.ts";
import { createPool, type PoolOptions } from "./pool.ts";

/** An independent part of the data plane: its tables, and the code that reads and writes them. */
export interface Cell {
  /** From 0. */
  number: number;
  /** The range of buckets, both inclusive, whose rows it holds. */
  firstBucket: number;
  lastBucket: number;
  /** The schema of its tables; undefined when there is only one cell, whose tables are in the schema of the control plane. */
  schema: string | undefined;
  /**
   * Sessions in which a table's name means the cell's table, or the control plane's table if the cell has none of that name.
   * A session never changes to another cell, because its cached plans are for one cell.
   */
  pool: pg.Pool;
  /**
   * Sessions like those of `pool`, on the server that holds the cell; see `CellRoute`. With only one cell it is `pool`
   * itself.
   */
  direct: pg.Pool;
  /** Undefined when there is only one cell. */
  route?: CellRoute;
}

/** All cells. Everything that belongs to one organization is in one of them. */
export interface Cells {
  /** In the order of their buckets; at least one. */
  all(): readonly Cell[];
  /** The cell that has the rows of a bucket (0–255). */
  ofBucket(bucket: number): Cell;
  /** The cell of an organization: that of its id's bucket. The ids of its targets get buckets of the same cell. */
  ofOrg(orgId: string): Cell;
}

const buckets = 256;

/** The whole data plane as one cell, whose tables the pool finds by its own search path. */
export function oneCell(pool: pg.Pool): Cells {
  const cell = { number: 0, firstBucket: 0, lastBucket: buckets - 1, schema: undefined, pool, direct: pool };
  const all = [cell];
  return { all: () => all, ofBucket: () => cell, ofOrg: () => cell };
}

/**
 * Cells of equal size, each in its own schema.
 * @param count a divisor of 16, so that an organization's buckets are never in two cells.
 * @param options the options of each cell's pools.
 */
function cellsInSchemas(count: number, options: PoolOptions): Cells {
  const size = buckets / count;
  const all = cellSchemas(count).map((schema, number): Cell => {
    const firstBucket = number * size;
    const pool = createPool({ ...options, schema });
    const route = new CellRoute(pool, { ...options, schema, cellNumber: number });
    const lastBucket = firstBucket + size - 1;
    return { number, firstBucket, lastBucket, schema, pool, direct: route.pool, route };
  });
  const ofBucket = (bucket: number): Cell => all[Math.floor(bucket / size)]!;
  return { all: () => all, ofBucket, ofOrg: (orgId) => ofBucket(bucketOf(orgId)) };
}

/** Names of the cells' schemas: each ends in the cell's first bucket. */
export const cellSchemaPattern = "^postrider_cell_[0-9a-f]{2}$";

/** The schemas of `count` cells, in order. */
export function cellSchemas(count: number): string[] {
  return Array.from({ length: count }, (_, number) => {
    const firstBucket = (number * buckets) / count;
    return `postrider_cell_${firstBucket.toString(16).padStart(2, "0")}`;
  });
}

/** Names of the schemas while a division fills them; no other session reads these schemas (`placement/divide.ts`). */
export const unfinishedSchemaPattern = "^postrider_dividing_[0-9a-f]{2}$";

/** The provisional schemas of a division into `count` cells, in order. */
export function unfinishedSchemas(count: number): string[] {
  return cellSchemas(count).map((schema) => schema.replace("_cell_", "_dividing_"));
}

/** The key of an advisory lock for work on one cell; each cell has its own. @param key the first cell's. */
export function lockOfCell(key: number, cellNumber: number): number {
  return key + cellNumber * lockDistance;
}

/** The distance between the keys of two cells; larger than the distance between the keys of two kinds of work. */
const lockDistance = 1_000;

/** Minimum number of connections of a cell, so that its claims, a batch of its items and a list need not wait for each other. */
export const leastConnections = 3;

/**
 * The cells of a database that `migrate` has prepared. A single cell uses the pool itself. Several cells have pools of their
 * own, which together have about as many connections as the pool, and as many again to the servers that hold the cells. Opens
 * no connection yet.
 */
export function openCells(pool: pg.Pool, count: number, options: PoolOptions): Cells {
  if (count === 1) return oneCell(pool);
  const size = Math.max(leastConnections, Math.ceil(options.size / count));
  return cellsInSchemas(count, { ...options, size });
}

/** The cells to whose servers this process connects directly. */
export function serversOf(cells: Cells): Cell[] {
  return cells.all().filter(({ route }) => route?.place()?.isDirect === true);
}

/** Closes the cells' own pools, and leaves the shared pool open. */
export async function closeCells(cells: Cells, pool: pg.Pool): Promise<void> {
  const own = cells.all().filter((cell) => cell.pool !== pool);
  await Promise.all(
    own.map(async (cell) => {
      await cell.route?.end();
      await cell.pool.end();
    }),
  );
}
