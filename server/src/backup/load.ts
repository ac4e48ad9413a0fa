import { pipeline } from "node:stream/promises";
import pg from "pg";
import { applyMigrations } from "../postgres/applyMigrations.ts";
import { cellSchemas } from "../postgres/cells.ts";
import { ensureCells } from "../postgres/ensureCells.ts";
import { rowsInto } from "../postgres/copyStreams.ts";
import { migrationLockKey } from "../postgres/migrate.ts";
import { baseline, lastCommitBeforeBaseline, migrations } from "../postgres/migrations.ts";
import { dropOwnTables, refuseUnlessEmpty } from "./emptiness.ts";
import { tablesWithoutKey } from "../postgres/partitions.ts";
import type { Contents, Manifest, OwnCell, OwnTable, Sequence } from "./parts.ts";
import { findFirstIn, openSession } from "./takeSnapshot.ts";

/** Mark that a load leaves in the database that it fills. */
export interface Mark {
  /** A UUID, committed with the rows; see {@link isFilledBy}. */
  id: string;
  /** Called before the commit: after a later failure it is unknown whether the rows were committed. */
  beforeCommit: () => void;
}

/** Number of loaded tables and rows. */
export interface Loaded {
  tables: number;
  rows: number;
}

/**
 * Loads a backup into an empty database: the schema of the backup, then all rows in one transaction. An error leaves the database
 * empty. The caller migrates the schema afterwards.
 * @throws {CommandError} when the database is not empty; {@link Error} when the backup is of a newer version or damaged.
 */
export async function load(
  client: pg.Client,
  { manifest, parts, sequences }: Contents,
  mark?: Mark,
): Promise<Loaded> {
  const known = migrationsOf(manifest);
  const cells = cellsOf(manifest);
  await client.query("select pg_advisory_lock($1)", [migrationLockKey]);
  await refuseUnlessEmpty(client);
  await dropOwnTables(client);
  let rows: number;
  try {
    await applyMigrations({ client }, known);
    if (cells.length > 0) await ensureCells({ client }, cells.length);
    await client.query("begin");
    for (const table of manifest.tables) await makePartitions(client, table);
    for (const { schema, tables } of cells) {
      await findFirstIn(client, schema);
      for (const table of tables) await makePartitions(client, table);
    }
    rows = await loadRows(client, manifest, parts);
    await client.query("reset search_path");
    for (const sequence of await sequences()) await setSequence(client, sequence);
    if (mark !== undefined) {
      // A comment on a table affects nothing else.
      await client.query(`comment on table organizations is ${pg.escapeLiteral(markOf(mark.id))}`);
      mark.beforeCommit();
    }
    await client.query("commit");
  } catch (error) {
    // If the connection broke, the server rolls back the transaction, and the next attempt drops the schema.
    await client.query("rollback").catch(() => undefined);
    await dropOwnTables(client).catch(() => undefined);
    throw error;
  }
  // A failure is ignored: the rows are committed, and the service gathers the statistics later.
  await client.query("analyze").catch(() => undefined);
  return { tables: [manifest, ...cells].reduce((sum, { tables }) => sum + tables.length, 0), rows };
}

function markOf(id: string): string {
  return `filled by ${id}`;
}

/** Whether a load with this mark has committed its rows in the database. */
export async function isFilledBy(url: string, id: string): Promise<boolean> {
  const client = await openSession({ url });
  try {
    const { rows } = await client.query<{ mark: string | null }>(
      "select obj_description(to_regclass('organizations'), 'pg_class') as mark",
    );
    return rows[0]!.mark === markOf(id);
  } finally {
    await client.end();
  }
}

/** The migrations of the backup's schema. @throws {Error} when this version does not have all of them. */
function migrationsOf(manifest: Manifest): typeof migrations {
  if (manifest.migrations.every(({ version }) => version < baseline.version)) {
    throw new Error(
      `this backup was made by a commit before 1.0.0: restore it with commit ${lastCommitBeforeBaseline}, and start this version on that database`,
    );
  }
  for (const { name, version, checksum } of manifest.migrations) {
    const ours = migrations.find((one) => one.version === version);
    if (ours?.checksum !== checksum) {
      throw new Error(
        `this backup was made by Postrider ${manifest.version}, with migration ${name}, which this version does not know: use that version or a newer one`,
      );
    }
  }
  return migrations.filter((ours) => manifest.migrations.some(({ version }) => version === ours.version));
}

/**
 * The backup's cells. Checks the names of their schemas, which come from a file and go into statements.
 * @throws {Error} when these are not the names that Postrider gives to that number of cells.
 */
function cellsOf({ cells = [] }: Manifest): readonly OwnCell[] {
  const wanted = cells.length === 0 ? [] : cellSchemas(cells.length);
  if (cells.every(({ schema }, number) => schema === wanted[number])) return cells;
  throw new Error("the backup does not describe its cells as Postrider does");
}

async function makePartitions(client: pg.Client, { name: parent, partitions }: OwnTable): Promise<void> {
  for (const { name, bounds, settings, unmeasured } of partitions) {
    // Bounds and settings come from a file and go into statements.
    if (!/^FOR VALUES FROM \([^();]*\) TO \([^();]*\)$/.test(bounds) || !settings.every(isSetting)) {
      throw new Error(`the backup does not describe the partition ${name} as Postrider does`);
    }
    const table = pg.escapeIdentifier(name);
    const stored = settings.length === 0 ? "" : ` with (${settings.join(", ")})`;
    await client.query(
      `create table if not exists ${table} partition of ${pg.escapeIdentifier(parent)} ${bounds}${stored}`,
    );
    if (tablesWithoutKey.includes(parent)) await client.query(`alter table ${table} replica identity full`);
    for (const column of unmeasured) {
      await client.query(`alter table ${table} alter column ${pg.escapeIdentifier(column)} set statistics 0`);
    }
  }
}

function isSetting(text: string): boolean {
  return /^[a-z_]+=[a-z0-9.]+$/.test(text);
}

async function loadRows(client: pg.Client, manifest: Manifest, parts: Contents["parts"]): Promise<number> {
  const places = new Map<string | undefined, readonly OwnTable[]>([[undefined, manifest.tables]]);
  for (const { schema, tables } of manifest.cells ?? []) places.set(schema, tables);
  let place: string | undefined;
  let total = 0;
  for await (const part of parts) {
    if (part.kind !== "begin") throw new Error("unreachable: rows are in a table");
    if (part.schema === undefined) await client.query("reset search_path");
    else if (part.schema !== place) await findFirstIn(client, part.schema);
    place = part.schema;
    const sink = rowsInto(client, intoOf(part.table, places.get(part.schema)));
    let wanted = 0;
    await pipeline(
      rowsUntilEnd(parts, (rows) => (wanted = rows)),
      sink,
    );
    const { rowCount } = sink as unknown as { rowCount: number };
    if (rowCount !== wanted) throw new Error(`a table has ${rowCount} rows instead of ${wanted}`);
    total += rowCount;
  }
  return total;
}

/** The rows of the table that has begun. @param ended called with their number. */
async function* rowsUntilEnd(
  parts: Contents["parts"],
  ended: (rows: number) => void,
): AsyncGenerator<Buffer, void> {
  for (;;) {
    const { value: part } = await parts.next();
    if (part?.kind === "bytes") yield part.bytes;
    else if (part?.kind === "end") return ended(part.rows);
    else throw new Error("unreachable: a table ends before the next one begins");
  }
}

function intoOf(table: string, tables: readonly OwnTable[] = []): string {
  const columns = tables.find(({ name }) => name === table)?.columns;
  if (columns === undefined) throw new Error(`the table ${table} is not described`);
  return `${pg.escapeIdentifier(table)} (${columns.map((column) => pg.escapeIdentifier(column)).join(", ")})`;
}

async function setSequence(client: pg.Client, { name, last }: Sequence): Promise<void> {
  if (last === null) return;
  await client.query("select setval($1::regclass, $2::bigint)", [pg.escapeIdentifier(name), last]);
}
