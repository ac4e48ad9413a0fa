import { createHash } from "node:crypto";
import pg from "pg";
import { rowsOf } from "../postgres/copyStreams.ts";
import { hasDistributedCells, presentCells } from "../postgres/ensureCells.ts";
import { tableSchema } from "../postgres/partitions.ts";
import { baseline, readMigrations, refuseUnknownMigrations } from "../postgres/migrations.ts";
import {
  clientConfig,
  type DatabaseConnection,
  durableCommit,
  keepAliveAfterMs,
  noTransactionTimeout,
} from "../postgres/pool.ts";
import { explainAway } from "../postgres/untilServes.ts";
import { refuseTransactionPooling } from "../postgres/refuseTransactionPooling.ts";
import { CommandError } from "../runtime/commandError.ts";
import { ownTables } from "./ownTables.ts";
import type { Contents, Manifest, OwnCell, Part, Sequence } from "./parts.ts";

/** The database to back up. */
export interface Source {
  connection: DatabaseConnection;
  encryptionKey: Buffer;
  version: string;
  nowMs: number;
}

/** Identifies a key without revealing it. */
export function fingerprintOf(key: Buffer): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}

/**
 * Opens a session outside the pools, without time limits, whatever the defaults of the database. Its commits wait for the disk.
 * @throws {Error} a sentence, when the database of a URL cannot be used, or a pooler shares sessions between clients.
 */
export async function openSession(connection: DatabaseConnection): Promise<pg.Client> {
  if (!("url" in connection)) return connect(connection);
  try {
    await refuseTransactionPooling(connection.url);
    return await connect(connection);
  } catch (error) {
    throw explainAway(error, connection.url);
  }
}

async function connect(connection: DatabaseConnection): Promise<pg.Client> {
  const client = new pg.Client({
    ...clientConfig(connection),
    application_name: "postrider backup",
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  // A lost connection also fails the current statement, whose error the caller gets.
  client.on("error", () => undefined);
  await client.connect();
  await client.query(
    `set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
     set idle_session_timeout = 0; select ${durableCommit}, ${noTransactionTimeout}`,
  );
  return client;
}

/**
 * Passes all rows of a database, as of one snapshot, to `use`, while others keep writing. One session holds the snapshot;
 * another reads each table in a transaction of its own, so that a table is locked only while it is read: a longer lock on a
 * partition that retention drops would block the drop and every statement that waits behind it.
 * @param use gets the reading session for its own statements, too, until it reads the parts.
 * @throws {Error} when a newer version has changed the database.
 * @throws {CommandError} when its cells are on other servers.
 */
export async function withSnapshot<T>(
  source: Source,
  use: (contents: Contents, session: pg.Client) => Promise<T>,
): Promise<T> {
  const holder = await openSession(source.connection);
  const reader = await openSession(source.connection);
  try {
    await refuseDistributed(holder);
    await holder.query("begin isolation level repeatable read read only");
    const { rows } = await holder.query<{ id: string }>("select pg_export_snapshot() as id");
    const manifest = await describe(holder, source);
    const contents = {
      manifest,
      parts: readAll(reader, rows[0]!.id, manifest),
      async sequences() {
        await refuseDivided(reader, manifest);
        return readSequences(reader);
      },
    };
    return await use(contents, reader);
  } finally {
    await Promise.allSettled([holder.end(), reader.end()]);
  }
}

/** @throws {CommandError} when cells are on several servers: a snapshot covers only one, so rows would be of different times. */
async function refuseDistributed(client: pg.Client): Promise<void> {
  if (!(await hasDistributedCells(client))) return;
  throw new CommandError(
    "the database's cells are on several servers, and one snapshot covers one server: take a base backup of each server with " +
      "pg_basebackup, archive their WAL, and name a common moment with select citus_create_restore_point('NAME'); see docs/backup.md",
    "conflict",
  );
}

async function describe(client: pg.Client, source: Source): Promise<Manifest> {
  const applied = await readMigrations(client);
  if (applied === undefined)
    throw new Error("the database has no tables of Postrider: there is nothing to read");
  refuseUnknownMigrations(applied);
  const cells = await describeCells(client);
  return {
    format: cells.length === 0 ? 1 : 2,
    created_at: Math.floor(source.nowMs / 1000),
    version: source.version,
    key_fingerprint: fingerprintOf(source.encryptionKey),
    migrations: applied
      .filter(({ version }) => version >= baseline.version)
      .map(({ version, name, checksum }) => ({ version, name, checksum })),
    tables: await ownTables(client),
    ...(cells.length > 0 && { cells }),
  };
}

async function describeCells(client: pg.Client): Promise<OwnCell[]> {
  const cells: OwnCell[] = [];
  for (const schema of await presentCells(client)) {
    await findFirstIn(client, schema);
    cells.push({ schema, tables: await ownTables(client) });
    await client.query("reset search_path");
  }
  return cells;
}

/**
 * Checks that the database was not divided during the backup: a division drops tables whose rows the snapshot contains.
 * @throws {Error} when it was.
 */
async function refuseDivided(client: pg.Client, { cells = [] }: Manifest): Promise<void> {
  if ((await presentCells(client)).length === cells.length) return;
  throw new Error("the database was divided into cells while it was read: begin again");
}

/** Sets the session's search path, so that table names mean the cell's tables, or else those of the control plane. */
export async function findFirstIn(client: pg.ClientBase, schema: string): Promise<void> {
  await client.query("reset search_path");
  const home = await tableSchema(client);
  await client.query(`set search_path = ${pg.escapeIdentifier(schema)}, ${home}`);
}

async function* readAll(
  client: pg.Client,
  snapshot: string,
  { tables, cells = [] }: Manifest,
): AsyncGenerator<Part, void> {
  for (const { schema, tables: its } of [{ schema: undefined, tables }, ...cells]) {
    if (schema !== undefined) await findFirstIn(client, schema);
    for (const { name: table, columns, partitions } of its) {
      const sources = partitions.length === 0 ? [table] : partitions.map(({ name }) => name);
      for (const source of sources) {
        await client.query(
          `begin isolation level repeatable read read only; set transaction snapshot ${pg.escapeLiteral(snapshot)}`,
        );
        if (await isThere(client, source)) {
          yield { kind: "begin", table, source, schema };
          yield* readRows(client, source, columns);
        }
        await client.query("commit");
      }
    }
  }
  await client.query("reset search_path");
}

/** Locks a table for reading. @returns false if it is a partition that has been dropped since the snapshot. */
async function isThere(client: pg.Client, table: string): Promise<boolean> {
  try {
    await client.query(`savepoint look; lock table ${pg.escapeIdentifier(table)} in access share mode`);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== "42P01") throw error;
    await client.query("rollback to savepoint look");
    return false;
  }
}

async function* readRows(
  client: pg.Client,
  source: string,
  columns: readonly string[],
): AsyncGenerator<Part, void> {
  const list = columns.map((column) => pg.escapeIdentifier(column)).join(", ");
  const stream = rowsOf(client, `select ${list} from only ${pg.escapeIdentifier(source)}`);
  for await (const bytes of stream as AsyncIterable<Buffer>) yield { kind: "bytes", bytes };
  yield { kind: "end", rows: (stream as unknown as { rowCount: number }).rowCount };
}

/** Reads the sequences. They are in no snapshot; read after the rows, they are at least as high as the numbers in them. */
async function readSequences(client: pg.Client): Promise<Sequence[]> {
  const { rows } = await client.query<Sequence>(
    `select sequencename as name, last_value::text as last
     from pg_sequences
     where schemaname = (
       select n.nspname
       from pg_class e
       join pg_namespace n on n.oid = e.relnamespace
       where e.oid = 'events'::regclass
     )
     order by sequencename`,
  );
  return rows;
}
