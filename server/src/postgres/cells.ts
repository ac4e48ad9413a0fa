import type pg from "pg";
import { bucketOf } from "./ids.ts";
import { CellRoute } from "./cellRoute.ts";
import { createPool, type PoolOptions } from "./pool.ts";

/** A part of the data plane that stands by itself: its tables, and whatever reads and writes them. */
export interface Cell {
  /** From 0. */
  number: number;
  /** The range of buckets, both inclusive, whose rows it holds. */
  firstBucket: number;
  lastBucket: number;
  /** The schema of its tables; undefined where the only cell's stand among those of the control plane. */
  schema: string | undefined;
  /**
   * Sessions whose names of tables mean the cell's, and the control plane's beside them. One that works with a cell never
   * changes to another: cached plans are of one cell.
   */
  pool: pg.Pool;
  /** The same, on the server that holds the cell; see `CellRoute`. It is `pool` itself where there is one cell. */
  direct: pg.Pool;
  /** Where there are several. */
  route?: CellRoute;
}

/** All parts of the data plane. Whatever belongs to one organization is in one of them. */
export interface Cells {
  /** In the order of their buckets; at least one. */
  all(): readonly Cell[];
  /** The cell that has the rows of a bucket (0–255). */
  ofBucket(bucket: number): Cell;
  /** The cell of an organization: that of its own id's bucket, to which its targets' ids are made. */
  ofOrg(orgId: string): Cell;
}

const buckets = 256;

/** The whole data plane as one cell, whose tables are where the pool finds them. */
export function oneCell(pool: pg.Pool): Cells {
  const cell = { number: 0, firstBucket: 0, lastBucket: buckets - 1, schema: undefined, pool, direct: pool };
  const all = [cell];
  return { all: () => all, ofBucket: () => cell, ofOrg: () => cell };
}

/**
 * Equal cells, in schemas of their own.
 * @param count a divisor of 16: an organization's buckets are never divided.
 * @param options of each cell's pools.
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

/** Names of the schemas while a division fills them: no other session reads them (`placement/divide.ts`). */
export const unfinishedSchemaPattern = "^postrider_dividing_[0-9a-f]{2}$";

/** The provisional schemas of a division into `count` cells, in order. */
export function unfinishedSchemas(count: number): string[] {
  return cellSchemas(count).map((schema) => schema.replace("_cell_", "_dividing_"));
}

/** The key of an advisory lock for work on one cell, which another cell's does not wait for. @param key of the first cell's. */
export function lockOfCell(key: number, cellNumber: number): number {
  return key + cellNumber * lockDistance;
}

/** More than there are keys for kinds of work, all of which are close together. */
const lockDistance = 1_000;

/** Enough that a cell's claims, a batch of its items and a list need not wait for each other. */
export const leastConnections = 3;

/**
 * The cells of a database, which `migrate` made. One uses the pool itself; several have pools of their own, which share its number
 * of connections between them, and as many to the servers that hold them. Nothing is connected yet.
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

/** Ends the pools that are the cells' own. */
export async function closeCells(cells: Cells, pool: pg.Pool): Promise<void> {
  const own = cells.all().filter((cell) => cell.pool !== pool);
  await Promise.all(
    own.map(async (cell) => {
      await cell.route?.end();
      await cell.pool.end();
    }),
  );
}
