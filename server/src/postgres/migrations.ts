import { createHash } from "node:crypto";
import { readSqlFiles, type SqlFile } from "./sqlFiles.ts";

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
