import type pg from "pg";
import { createPool, type PoolOptions } from "./pool.ts";
import { type Cells, cellsInSchemas, oneCell } from "./cells.ts";

/** Enough that a cell's claims, a batch of its items and a list need not wait for each other. */
export const leastConnections = 3;

/**
 * The cells of a database, which `migrate` made. One uses the pool itself; several have pools of their own, which share its number
 * of connections between them. Nothing is connected yet.
 */
export function openCells(pool: pg.Pool, count: number, options: PoolOptions): Cells {
  if (count === 1) return oneCell(pool);
  const size = Math.max(leastConnections, Math.ceil(options.size / count));
  return cellsInSchemas(count, (schema) => createPool({ ...options, schema, size }));
}

/** Ends the pools that are the cells' own. */
export async function closeCells(cells: Cells, pool: pg.Pool): Promise<void> {
  const own = cells.all().filter((cell) => cell.pool !== pool);
  await Promise.all(own.map((cell) => cell.pool.end()));
}
