import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";

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
