import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { type BriefLocks, withBriefLocks } from "./briefLocks.ts";
import { createFirstPartitions, createPartitions, tableSchema } from "./partitions.ts";
import { SchemaError } from "./migrations.ts";
import { tablesOfCells as tables } from "./tablePlaces.ts";
import { additionsTo, type Copy } from "./additionsTo.ts";
import { cellSchemaPattern, cellSchemas, unfinishedSchemaPattern } from "./cells.ts";
import { limited, noQueryTimeoutMs } from "./hot/queryLimit.ts";
import { readShapes, type TableShape } from "./tableShape.ts";

/** Tables whose rows would be lost if the data plane moved into cells without a division. */
const firstFilled = ["targets", "events", "usage_totals", "usage_records"];

/**
 * Creates the schemas of the cells in one transaction, with copies of the data-plane tables that the migrations created in
 * the control plane's schema. Adds to existing cells the objects that later migrations added, and the partitions of the next
 * days unless Citus has placed the cells. Does nothing with one cell, and changes nothing on a server of Citus unless
 * something is missing. The caller holds the migration lock, and its search path contains only the schema of the control
 * plane.
 * @throws {SchemaError} when the database has another number of cells, when it has rows from a time with one cell, or when a
 *   table of a cell differs from the table that the migrations created.
 */
export async function ensureCells(session: BriefLocks, count: number): Promise<void> {
  const { client } = session;
  await removeUnfinished(client);
  const present = await refuseOtherCells(client, count);
  const wanted = schemasOf(count);
  if (wanted.length === 0) return;
  const home = await tableSchema(client);
  const isDistributed = await hasDistributedCells(client);
  await withBriefLocks(session, async () => {
    for (const schema of wanted) await ensureCell(client, { home, schema, isDistributed });
  });
  // Citus creates a partition on every server or not at all, and the start must not fail while a server is down. The chore
  // creates these partitions, and so does a write that finds one missing.
  if (isDistributed) return;
  for (const schema of present) {
    await client.query(`set search_path = ${schema}, ${home}`);
    await createPartitions(session);
    await client.query("reset search_path");
  }
}

function schemasOf(count: number): string[] {
  return count === 1 ? [] : cellSchemas(count);
}

/**
 * @returns the schemas of the cells that the database has.
 * @throws {SchemaError} when it has another number of cells, or rows from a time with one cell.
 */
export async function refuseOtherCells(client: pg.Pool | pg.ClientBase, count: number): Promise<string[]> {
  const present = await presentCells(client);
  if (isDeepStrictEqual(present, schemasOf(count))) return present;
  if (present.length > 0) {
    throw new SchemaError(
      `the database has ${present.length} cells and POSTRIDER_CELLS says ${count}: set it to ${present.length}`,
    );
  }
  const filled = firstFilled.map((table) => `exists (select from ${table})`).join(" or ");
  const { rows } = await client.query<{ is_filled: boolean }>(`select ${filled} as is_filled`);
  if (!rows[0]!.is_filled) return present;
  throw new SchemaError(
    `the database has one cell and POSTRIDER_CELLS says ${count}: postrider db divide --cells ${count} divides it, while no service runs`,
  );
}

/** The schemas of the cells that a database has, in order; none when it has one cell. */
export function presentCells(client: pg.Pool | pg.ClientBase): Promise<string[]> {
  return schemasLike(client, cellSchemaPattern);
}

/** The names of the schemas that match one of the patterns, in order. */
export async function schemasLike(client: pg.Pool | pg.ClientBase, ...patterns: string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "select nspname as name from pg_namespace where nspname ~ any ($1::text[]) order by name",
    [patterns],
  );
  return rows.map(({ name }) => name);
}

/** Whether the database has Citus, recognized by its table of distributed schemas. */
export async function hasCitus(client: pg.Pool | pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>(
    "select to_regclass('pg_catalog.pg_dist_schema') is not null as has",
  );
  return rows[0]!.has;
}

/** Whether Citus has placed cells on servers of their own. */
export async function hasDistributedCells(client: pg.Pool | pg.ClientBase): Promise<boolean> {
  if (!(await hasCitus(client))) return false;
  const { rowCount } = await client.query("select from pg_dist_schema limit 1");
  return rowCount === 1;
}

/**
 * Removes the schemas that an interrupted division left behind. The caller holds the migration lock, so no division is under
 * way.
 */
export async function removeUnfinished(client: pg.ClientBase): Promise<void> {
  for (const name of await schemasLike(client, unfinishedSchemaPattern))
    await client.query(limited(noQueryTimeoutMs, `drop schema ${name} cascade`));
}

/** @throws {SchemaError} when a table of a cell differs from the one that the migrations created. */
export async function refuseUnlike(
  client: pg.ClientBase,
  { home, schema, isDistributed = false }: Cell,
  wanted: ReadonlyMap<string, TableShape>,
): Promise<void> {
  const shapes = await readShapes(client, schema, tables);
  const made = isDistributed ? withoutStatistics(shapes) : shapes;
  const other = tables.find((table) => !isDeepStrictEqual(made.get(table), wanted.get(table)));
  if (other !== undefined) throw new SchemaError(`the table ${schema}.${other} is not like ${home}.${other}`);
}

interface Cell extends Copy {
  /** Whether Citus has placed the cell on a server. */
  isDistributed?: boolean;
}

async function ensureCell(client: pg.ClientBase, cell: Cell): Promise<void> {
  const { home, schema, isDistributed = false } = cell;
  const shapes = await readShapes(client, home, tables);
  const wanted = isDistributed ? withoutStatistics(shapes) : shapes;
  // Citus sends this statement to every server, even if the schema exists.
  if (!isDistributed) await client.query(`create schema if not exists ${schema}`);
  // Foreign keys refer to tables of the cell or of the control plane.
  await client.query(`set local search_path = ${schema}, ${home}`);
  const present = await readShapes(client, schema, tables);
  const additions = additionsTo(cell, wanted, present);
  const statements = [...additions.tables, ...additions.keys];
  // Citus accepts one statement at a time; the round trips do not matter there.
  if (isDistributed) for (const statement of statements) await client.query(statement);
  else if (statements.length > 0) await client.query(statements.join(";\n"));
  await refuseUnlike(client, cell, wanted);
  if (present.size === 0) await createFirstPartitions(client);
  await client.query(`set local search_path = ${home}`);
}

/** Citus refuses to set the statistics targets of columns; `undistribute` sets them. */
function withoutStatistics(shapes: ReadonlyMap<string, TableShape>): Map<string, TableShape> {
  return new Map(
    [...shapes].map(([table, shape]) => {
      const columns = [...shape.columns].map(
        ([name, { declaration }]) => [name, { declaration, statistics: -1 }] as const,
      );
      return [table, { ...shape, columns: new Map(columns) }];
    }),
  );
}
