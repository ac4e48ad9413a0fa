import type pg from "pg";
import { type BriefLocks, withBriefLocks } from "./briefLocks.ts";
import {
  baseline,
  databaseBeforeBaseline,
  lastBeforeBaseline,
  type AppliedMigration,
  type Migration,
  readMigrations,
  SchemaError,
} from "./migrations.ts";
import { findForeignTables, foreignTablesText, isMigrated } from "./foreignTables.ts";
import { limited, noQueryTimeoutMs } from "./hot/queryLimit.ts";
import { hasDistributedCells } from "./ensureCells.ts";
import { runningOlderProcesses } from "./processes.ts";

/**
 * Applies the migrations that the database lacks, each in its own transaction with short lock timeouts. The caller holds the
 * migration lock. Migrations that this process does not know are accepted, unless one of them requires that they do.
 * @returns the names of the applied migrations.
 * @throws {SchemaError} when this process is too old for the database, a migration was edited, or one would take
 *   something away that a running process uses.
 */
export async function applyMigrations(
  session: BriefLocks,
  migrations: readonly Migration[],
): Promise<string[]> {
  const { client } = session;
  if (await isMigrated(client)) await adoptBaseline(client);
  else {
    await refuseForeignTables(client);
    await refuseOtherEncodings(client);
  }
  const applied = await readApplied(client);
  refuseTooNew(applied, migrations);
  const known = new Map(applied.map((row) => [row.version, row]));
  const names: string[] = [];
  for (const migration of migrations) {
    const row = known.get(migration.version);
    if (row === undefined) {
      await refuseOlderProcesses(client, migration);
      await apply(session, migration);
      names.push(migration.name);
    } else if (row.checksum !== migration.checksum) {
      throw new SchemaError(
        `migration ${row.name} was edited after it ran: restore its text and add a new migration`,
      );
    }
  }
  return names;
}

async function readApplied(client: pg.ClientBase): Promise<AppliedMigration[]> {
  await client.query(`
    create table if not exists schema_changes (
      version integer primary key,
      name text not null,
      checksum text not null,
      needs integer not null,
      applied_at timestamptz not null default now()
    )`);
  return (await readMigrations(client))!;
}

/** Tables that only a database of Postrider has all together. */
const ownOnly = ["api_keys", "deliveries", "idempotency_keys", "usage_records"];

/**
 * Protects another program's database.
 * @throws {SchemaError} when tables that no migration created have names of Postrider's tables.
 */
async function refuseForeignTables(client: pg.ClientBase): Promise<void> {
  const names = await findForeignTables(client);
  if (ownOnly.every((name) => names.includes(name))) throw databaseBeforeBaseline();
  if (names.length > 0) throw new SchemaError(foreignTablesText(names));
}

/**
 * Texts of clients are Unicode. Other encodings lack most characters, and `SQL_ASCII`, the encoding of a cluster that was
 * created without a locale, counts bytes and may cut within a character.
 * @throws {SchemaError} when the encoding of the database is not UTF8.
 */
export async function refuseOtherEncodings(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    "select current_setting('server_encoding') as encoding",
  );
  const { encoding } = rows[0]!;
  if (encoding === "UTF8") return;
  throw new SchemaError(
    `the database has the encoding ${encoding}, and Postrider needs UTF8: make a database with create database NAME encoding 'UTF8' template template0`,
  );
}

/**
 * Records the baseline as applied on a database that was created before the baseline and has its schema.
 * @throws {SchemaError} when an earlier commit created the database.
 */
async function adoptBaseline(client: pg.ClientBase): Promise<void> {
  const { version, name, checksum } = baseline;
  const adopted = await client.query(
    `insert into schema_changes (version, name, checksum, needs)
     select $1::integer, $2::text, $3::text, 0
     from schema_changes
     where version = $4
     on conflict do nothing`,
    [version, name, checksum, lastBeforeBaseline],
  );
  const { rowCount } = await client.query("select from schema_changes where version = $1", [version]);
  if (rowCount === 0) throw databaseBeforeBaseline();
  // Such a database listed its migrations in this table before they had checksums. In any other database the table belongs to
  // another program.
  if (adopted.rowCount === 1) await client.query("drop table if exists schema_migrations");
}

function refuseTooNew(applied: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const last = migrations.at(-1)?.version ?? 0;
  const obstacle = applied.findLast(({ needs }) => needs > last);
  if (obstacle === undefined) return;
  throw new SchemaError(
    `the database has migration ${obstacle.name}, which requires processes that know migration ${obstacle.needs}; this version of Postrider knows migrations up to ${last}: start a newer version, or restore a backup made before it ran`,
  );
}

async function refuseOlderProcesses(client: pg.ClientBase, { name, needs }: Migration): Promise<void> {
  if (needs === 0) return;
  const running = await runningOlderProcesses(client, needs);
  if (running.length === 0) return;
  const list = running.map(({ version, host }) => `${version} on ${host}`).join(", ");
  throw new SchemaError(
    `migration ${name} removes what running processes of earlier versions use (${list}): stop them first; a process that died counts as running for a minute`,
  );
}

async function apply(session: BriefLocks, migration: Migration): Promise<void> {
  try {
    await withBriefLocks(session, () => applyOnce(session.client, migration));
  } catch (cause) {
    throw new SchemaError(`${migration.name} failed: ${(cause as Error).message}`, { cause });
  }
}

/** The row is inserted first, so that the migration's own locks are held only from its text to the commit. */
async function applyOnce(client: pg.ClientBase, migration: Migration): Promise<void> {
  const { name, text, version, checksum, needs } = migration;
  await client.query("insert into schema_changes (version, name, checksum, needs) values ($1, $2, $3, $4)", [
    version,
    name,
    checksum,
    needs,
  ]);
  // Citus passes the text of a query to the servers unchanged, and they accept one statement at a time.
  const texts = (await hasDistributedCells(client)) ? splitStatements(text) : [text];
  for (const one of texts) await client.query(limited(noQueryTimeoutMs, one));
}

/**
 * Semicolons, and quoted text and comments, in which a semicolon does not end a statement. Nested comments and `begin atomic`
 * are not recognized.
 */
const tokens =
  /\b[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|--[^\n]*|\/\*[^]*?\*\/|;/g;

const onlyComments = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*$/;

/** The statements of an SQL text in their order, each with the comments before it and without its semicolon. */
export function splitStatements(text: string): string[] {
  const ends = [...text.matchAll(tokens)].filter(([token]) => token === ";").map(({ index }) => index);
  return [...ends, text.length]
    .map((end, number) => text.slice(number === 0 ? 0 : ends[number - 1]! + 1, end).trim())
    .filter((statement) => !onlyComments.test(statement));
}
