import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type pg from "pg";

/** The database cannot be used by this version of the service; the message says what to do. */
export class SchemaError extends Error {}

/** A file of SQL that the service came with. */
export interface SqlFile {
  name: string;
  text: string;
}

/** The SQL files of a folder and its subfolders, in order. Read at import, so that later changes of files do not reach a running process. */
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
   * Processes have to know this migration to run on the schema as it is afterwards; 0 when all can. A migration that
   * takes something away says so in a line `-- needs 0012`.
   */
  needs: number;
}

/** The steps that this version of the service came with, in order. */
export const migrations: readonly Migration[] = readSqlFiles(new URL("./migrations/", import.meta.url)).map(
  toMigration,
);

/** The first migration: the whole schema of 1.0.0. */
export const baseline = migrations[0]!;

/** The last migration before the baseline. A database that has it has the baseline's schema. */
export const lastBeforeBaseline = 57;
/** The last commit that upgrades databases of earlier commits and restores their backups. */
export const lastCommitBeforeBaseline = "7f04ab1";

export function databaseBeforeBaseline(): SchemaError {
  return new SchemaError(
    `the database was made by a commit before 1.0.0: start commit ${lastCommitBeforeBaseline} on it once, which brings it to the state that 1.0.0 takes over`,
  );
}

/** The migrations that a database has, in order; undefined where it has no list of them. */
export async function readMigrations(
  client: pg.ClientBase,
): Promise<Pick<Migration, "version" | "name" | "checksum">[] | undefined> {
  const lists = await client.query<{ is_there: boolean }>(
    "select to_regclass('schema_changes') is not null as is_there",
  );
  if (!lists.rows[0]!.is_there) return undefined;
  const { rows } = await client.query<Pick<Migration, "version" | "name" | "checksum">>(
    "select version, name, checksum from schema_changes order by version",
  );
  return rows;
}

/**
 * For commands that leave the schema as it is.
 * @throws {SchemaError} when a database has migrations from before the baseline alone, or one of a newer version.
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
