import { createHash } from "node:crypto";
import { readSqlFiles, type SqlFile } from "./sqlFiles.ts";
import { SchemaError } from "./schemaError.ts";

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

/**
 * For commands that leave the schema as it is.
 * @throws {SchemaError} when one of the migrations that a database has is a newer version's.
 */
export function refuseNewerMigrations(applied: readonly Pick<Migration, "version" | "name">[]): void {
  const unknown = applied.find(({ version }) => migrations.every((known) => known.version !== version));
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
