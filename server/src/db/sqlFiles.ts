import { readdirSync, readFileSync } from "node:fs";

/** A file of SQL that the service came with. */
export interface SqlFile {
  name: string;
  text: string;
}

/** The SQL files of a folder in the order of their names. At import: what a process came with is fixed then. */
export function readSqlFiles(folder: URL): SqlFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));
}
