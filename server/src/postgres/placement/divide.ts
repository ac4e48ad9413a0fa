import type pg from "pg";
import { additionsTo } from "../additionsTo.ts";
import { cellSchemas, unfinishedSchemas } from "../cells.ts";
import { refuseUnlike, removeUnfinished } from "../ensureCells.ts";
import { copyPartitions, createFirstPartitions, storedTables, tableSchema } from "../partitions.ts";
import { runningHosts } from "../processes.ts";
import { refuseIndivisible } from "./refuseIndivisible.ts";
import { SchemaError } from "../migrations.ts";
import { tablesOfCells } from "../tablePlaces.ts";
import { readShapes, type TableShape } from "../tableShape.ts";

/** Two sessions without timeouts, with only the control plane's schema in their search paths. */
export interface Division {
  /**
   * Holds the migration lock, and one transaction during the whole division, which prevents other sessions from writing. Its
   * COMMIT makes the division effective.
   */
  guard: pg.ClientBase;
  /** Creates and fills the cells' tables during that transaction; each statement is a transaction of its own. */
  filler: pg.ClientBase;
  /** Called with the current step, as a text to follow "still". */
  doing: (what: string) => void;
}

/** The amount of data that was moved to the cells. */
export interface Divided {
  /** Number of tables that were not empty. */
  tables: number;
  rows: number;
}

/**
 * Divides a database into cells: copies all rows of the data plane into the schemas of their cells. The schemas have
 * provisional names until they are complete; one transaction renames them and removes the original rows. Until its commit the
 * database is undivided, and stays so after an error or a crash. The caller ensures that no process of the service runs, and
 * holds the migration lock, so that none starts.
 * @throws {SchemaError} when the database cannot be divided; see {@link refuseIndivisible}.
 */
export async function divide(division: Division, count: number): Promise<Divided> {
  const { guard, filler, doing } = division;
  doing("looking whether the database can be divided");
  await refuseIndivisible(guard, count);
  await removeUnfinished(filler);
  const home = await tableSchema(guard);
  doing("waiting for sessions that write");
  await guard.query("begin");
  let filled: Filled;
  try {
    const names = tablesOfCells.map((table) => `only ${home}.${table}`).join(", ");
    await guard.query(`lock table ${names} in exclusive mode`);
    filled = await fillCells(division, home, unfinishedSchemas(count));
    doing("switching to the cells, and dropping the original rows");
    await showCells(guard, home, count);
    await guard.query("commit");
  } catch (error) {
    // Either session may be broken; the next start then removes the unfinished schemas.
    await guard.query("rollback").catch(() => undefined);
    await removeUnfinished(filler).catch(() => undefined);
    throw error;
  }
  await analyzeCells(division, filled.tables, count).catch(() => undefined);
  return { tables: filled.tables.length, rows: filled.rows };
}

/**
 * Gathers statistics of the cells. A failure does no harm: the rows are committed, and autovacuum gathers the statistics
 * later.
 */
async function analyzeCells(
  { filler, doing }: Division,
  tables: readonly string[],
  count: number,
): Promise<void> {
  for (const table of tables) {
    doing(`gathering statistics of ${table}`);
    for (const schema of cellSchemas(count)) await filler.query(`analyze ${schema}.${table}`);
  }
}

interface Filled {
  /** Tables that are not empty. */
  tables: string[];
  rows: number;
}

async function fillCells(
  { filler, doing }: Division,
  home: string,
  schemas: readonly string[],
): Promise<Filled> {
  const wanted = await readShapes(filler, home, tablesOfCells);
  doing("making the cells' tables");
  const keys: string[][] = [];
  for (const schema of schemas) keys.push(await makeTables(filler, { home, schema }, wanted));
  const sources = await storedTables(filler, home, tablesOfCells);
  const filled = new Set<string>();
  let rows = 0;
  for (const { table, source } of sources) {
    doing(`moving ${source} (${rows} rows moved before)`);
    const columns = [...wanted.get(table)!.columns.keys()];
    const moved = await moveRows(
      filler,
      { home, source, columns, bucket: bucketOfRow(table, new Set(columns), home) },
      schemas,
    );
    rows += moved;
    if (moved > 0) filled.add(table);
  }
  // Building keys and indexes after all rows are inserted is much faster than maintaining them for each row.
  for (const [number, schema] of schemas.entries()) {
    await filler.query(`set search_path = ${schema}, ${home}`);
    for (const key of keys[number]!) {
      doing(`building keys and indexes of ${schema} (${rows} rows moved)`);
      await filler.query(key);
    }
    await refuseUnlike(filler, { home, schema }, wanted);
    await filler.query("reset search_path");
  }
  return { tables: [...filled], rows };
}

/** Creates a cell's tables with their partitions. @returns the statements that create constraints and indexes. */
async function makeTables(
  client: pg.ClientBase,
  copy: { home: string; schema: string },
  wanted: ReadonlyMap<string, TableShape>,
): Promise<string[]> {
  const { home, schema } = copy;
  await client.query(`create schema ${schema}`);
  await client.query(`set search_path = ${schema}, ${home}`);
  const { tables, keys } = additionsTo(copy, wanted, new Map());
  for (const statement of tables) await client.query(statement);
  await copyPartitions(client, home, schema);
  await createFirstPartitions(client);
  await client.query("reset search_path");
  return keys;
}

interface Source {
  home: string;
  /** The name of a table or partition, which is the same in each cell. */
  source: string;
  columns: readonly string[];
  bucket: string;
}

/** Copies the rows of a table or partition to the cells. @throws {Error} unless each row was copied to exactly one cell. */
async function moveRows(
  client: pg.ClientBase,
  { home, source, columns, bucket }: Source,
  schemas: readonly string[],
): Promise<number> {
  const list = columns.join(", ");
  const size = 256 / schemas.length;
  let moved = 0;
  for (const [number, schema] of schemas.entries()) {
    const { rowCount } = await client.query(
      `insert into ${schema}.${source} (${list})
       select ${list}
       from only ${home}.${source}
       where ${bucket} between ${number * size} and ${(number + 1) * size - 1}`,
    );
    moved += rowCount!;
  }
  const { rows } = await client.query<{ count: string }>(
    `select count(*) as count from only ${home}.${source}`,
  );
  if (Number(rows[0]!.count) === moved) return moved;
  throw new Error(`${source} has ${rows[0]!.count} rows, but ${moved} were copied to cells`);
}

/**
 * Gives the cells their final names, and empties the undivided tables, as they are in a database that was divided at its
 * first start.
 */
async function showCells(client: pg.ClientBase, home: string, count: number): Promise<void> {
  const schemas = cellSchemas(count);
  for (const [number, schema] of unfinishedSchemas(count).entries())
    await client.query(`alter schema ${schema} rename to ${schemas[number]}`);
  // Without partitions, writes of a process that has not been seen for a minute fail.
  const stored = await storedTables(client, home, tablesOfCells);
  const partitions = stored.filter(({ table, source }) => table !== source);
  const named = (names: readonly string[]): string => names.map((name) => `${home}.${name}`).join(", ");
  if (partitions.length > 0)
    await client.query(`drop table ${named(partitions.map(({ source }) => source))}`);
  await client.query(`truncate ${named(tablesOfCells)}`);
  const hosts = await runningHosts(client);
  if (hosts.length === 0) return;
  throw new SchemaError(
    `a process of the service started in the meantime (on ${[...new Set(hosts)].join(", ")}): stop it, and try again`,
  );
}

/**
 * SQL for the bucket (0–255) that determines the cell of a row: the bucket of the row's organization, if the row has one;
 * otherwise the row's own bucket, which is that of its target; otherwise the bucket of the organization of its replay, or of
 * its target.
 * @param home the schema of the undivided tables, as SQL writes it.
 * @throws {Error} for a table whose rows have none of these.
 */
function bucketOfRow(table: string, columns: ReadonlySet<string>, home: string): string {
  if (columns.has("org_id")) return bucketOfId("org_id");
  if (columns.has("bucket")) return "bucket";
  if (columns.has("replay_id"))
    return `(select ${bucketOfId("r.org_id")} from ${home}.replays r where r.id = replay_id)`;
  if (columns.has("target_id")) return bucketOfId("target_id");
  throw new Error(`a row of ${table} does not say which cell it belongs to`);
}

function bucketOfId(id: string): string {
  return `get_byte(uuid_send(${id}), 15)`;
}
