import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import type pg from "pg";
import { ensurePartitions } from "./partitions.ts";
import { noQueryTimeoutMs } from "./hot/queryTimeout.ts";

/** The schema cannot be used by this version of the service; the message says what to do. */
class SchemaError extends Error {}

const migrationsFolder = new URL("./migrations/", import.meta.url);
const functionsFolder = new URL("./sql/", import.meta.url);
const advisoryLockKey = 7_281_934_001;
const lockTimeoutMs = 5_000;

interface SqlFile {
  name: string;
  text: string;
  checksum: string;
}

/**
 * Brings the database's schema to this version: numbered migrations forward only, each once and in its own
 * transaction, then the SQL functions whose text has changed, then the partitions of the days ahead. Safe to run from many processes at once.
 * @param onWait told what it waits for, to follow "still"; what it throws ends the wait.
 * @returns what was applied, by file name.
 * @throws {SchemaError} when the database is newer than this version, or an applied migration was edited.
 */
export async function migrate(
  pool: pg.Pool,
  onWait: (what: string) => void = () => undefined,
): Promise<string[]> {
  const migrations = await readSqlFiles(migrationsFolder);
  const functions = await readSqlFiles(functionsFolder);
  const client = await pool.connect();
  try {
    await client.query(`set statement_timeout = 0; set lock_timeout = ${lockTimeoutMs}`);
    await takeLock(client, onWait);
    const applied = [
      ...(await applyMigrations(client, migrations)),
      ...(await applyFunctions(client, functions)),
    ];
    await ensurePartitions(client, Date.now());
    return applied;
  } finally {
    // The lock and the settings belong to the session; the connection is not returned to the pool.
    client.release(true);
  }
}

/** Waits for as long as another process has it: a migration of many rows takes its time. */
async function takeLock(client: pg.PoolClient, onWait: (what: string) => void): Promise<void> {
  for (;;) {
    try {
      await client.query("select pg_advisory_lock($1)", [advisoryLockKey]);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "55P03") throw error;
      onWait("waiting for another process that brings the schema up to date");
    }
  }
}

async function applyMigrations(client: pg.PoolClient, files: SqlFile[]): Promise<string[]> {
  await client.query(`create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`);
  const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
    "select version, name, checksum from schema_migrations order by version",
  );
  const known = new Map(files.map((file) => [versionOf(file), file]));
  for (const row of rows) {
    const file = known.get(row.version);
    if (file === undefined) {
      throw new SchemaError(
        `the database has migration ${row.name}, which this version of Postrider does not know: start the newer version, or restore a backup made before it ran`,
      );
    }
    if (file.checksum !== row.checksum) {
      throw new SchemaError(
        `migration ${row.name} was edited after it ran: restore its text and add a new migration`,
      );
    }
  }
  const done = new Set(rows.map((row) => row.version));
  const applied: string[] = [];
  for (const file of files) {
    if (done.has(versionOf(file))) continue;
    await inOwnTransaction(client, file, async () => {
      await client.query("insert into schema_migrations (version, name, checksum) values ($1, $2, $3)", [
        versionOf(file),
        file.name,
        file.checksum,
      ]);
    });
    applied.push(file.name);
  }
  return applied;
}

async function applyFunctions(client: pg.PoolClient, files: SqlFile[]): Promise<string[]> {
  await client.query(`create table if not exists schema_functions (
    name text primary key,
    checksum text not null
  )`);
  const { rows } = await client.query<SqlFile>("select name, checksum from schema_functions");
  const current = new Map(rows.map((row) => [row.name, row.checksum]));
  const applied: string[] = [];
  for (const file of files) {
    if (current.get(file.name) === file.checksum) continue;
    await inOwnTransaction(client, file, async () => {
      await client.query(
        `insert into schema_functions (name, checksum) values ($1, $2)
         on conflict (name) do update set checksum = excluded.checksum`,
        [file.name, file.checksum],
      );
    });
    applied.push(file.name);
  }
  return applied;
}

async function inOwnTransaction(
  client: pg.PoolClient,
  file: SqlFile,
  record: () => Promise<void>,
): Promise<void> {
  await client.query("begin");
  try {
    // The driver knows the limit of a single query; its types do not.
    const statement = { text: file.text, query_timeout: noQueryTimeoutMs };
    await client.query(statement);
    await record();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw new SchemaError(`${file.name} failed: ${(error as Error).message}`, { cause: error });
  }
}

async function readSqlFiles(folder: URL): Promise<SqlFile[]> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith(".sql")).sort();
  return Promise.all(
    paths.map(async (path) => {
      const text = await readFile(new URL(path, folder), "utf8");
      return { name: basename(path), text, checksum: createHash("sha256").update(text).digest("hex") };
    }),
  );
}

function versionOf(file: SqlFile): number {
  return Number.parseInt(file.name, 10);
}
