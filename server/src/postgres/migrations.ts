import { createHash } from "node:crypto";
import { readSqlFiles, type SqlFile } from "./sqlFiles.ts";

/** The database cannot be used by this version of the service; the message says what to do. */
export class SchemaError extends Error {}

/** One numbered step of the schema. */
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
