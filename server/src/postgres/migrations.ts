import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type pg from "pg";

/** The database cannot be used by this version of the service; the message says what to do. */
export class SchemaError extends Error {}

/** A SQL file of this version of the service. */
export interface SqlFile {
  name: string;
  text: string;
}

/**
 * The SQL files of a folder and its subfolders, in order. Read once at import, so that a running process does not see later
 * changes of the files.
 */
export function readSqlFiles(folder: URL): SqlFile[] {
  return readdirSync(folder, { encoding: "utf8", recursive: true })
    .filter((path) => path.endsWith(".sql"))
    .sort()
    .map((path) => ({ name: basename(path), text: readFileSync(new URL(path, folder), "utf8") }));
}

export interface Migration extends SqlFile {
  version: number;
  checksum: string;
  /**
   * The version of the migration that a process must know to run on the resulting schema; 0 when every process can run. A
   * migration that removes something declares it in a line `-- needs 0012`.
   */
  needs: number;
}

/** The migrations of this version of the service, in order. */
export const migrations: readonly Migration[] = readSqlFiles(new URL("./migrations/", import.meta.url)).map(
  toMigration,
);

/** The first migration: the whole schema of 1.0.0. */
export const baseline = migrations[0]!;

/** The last migration before the baseline. A database with this migration has the baseline's schema. */
export const lastBeforeBaseline = 57;
/** The last commit that can upgrade databases of earlier commits and restore their backups. */
export const lastCommitBeforeBaseline = "7f04ab1";

export function databaseBeforeBaseline(): SchemaError {
  return new SchemaError(
    `the database was created by a commit before 1.0.0: start commit ${lastCommitBeforeBaseline} on it once, which migrates it to the schema of 1.0.0`,
  );
}

/** A migration as the database records it. */
export type AppliedMigration = Omit<Migration, "text">;

/** The migrations that were applied to a database, in order; undefined when it has no table of migrations. */
export async function readMigrations(client: pg.ClientBase): Promise<AppliedMigration[] | undefined> {
  const lists = await client.query<{ is_there: boolean }>(
    "select to_regclass('schema_changes') is not null as is_there",
  );
  if (!lists.rows[0]!.is_there) return undefined;
  const { rows } = await client.query<AppliedMigration>(
    "select version, name, checksum, needs from schema_changes order by version",
  );
  return rows;
}

/**
 * Checks the migrations of a database for commands that do not change the schema.
 * @throws {SchemaError} when a database has only migrations from before the baseline, or one of a newer version.
 */
export function refuseUnknownMigrations(applied: readonly Pick<Migration, "version" | "name">[]): void {
  if (applied.every(({ version }) => version < baseline.version)) {
    if (applied.every(({ version }) => version !== lastBeforeBaseline)) throw databaseBeforeBaseline();
    throw new SchemaError(
      `the database lacks migration ${baseline.name}: start this version of the service once`,
    );
  }
  const unknown = applied.find(
    ({ version }) => version > baseline.version && migrations.every((known) => known.version !== version),
  );
  if (unknown === undefined) return;
  throw new SchemaError(
    `the database has migration ${unknown.name}, which this version of Postrider does not know: use the newer version's command`,
  );
}

/** The last migration that this process knows. */
export const lastMigration = migrations.at(-1)!.version;

export function toMigration({ name, text }: SqlFile): Migration {
  return {
    name,
    text,
    version: Number.parseInt(name, 10),
    checksum: createHash("sha256").update(text).digest("hex"),
    needs: Number(/^-- needs (\d{4})\b/m.exec(text)?.[1] ?? 0),
  };
}
