import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Edit } from "./mutant.ts";

/** Applies an edit to a copy of the repository in `folder`. @throws {Error} unless the text occurs exactly once. */
export function applyEdit({ file, find, replace }: Edit, folder: string): void {
  const path = join(folder, "server/src", file);
  const parts = readFileSync(path, "utf8").split(find);
  if (parts.length !== 2) {
    throw new Error(`${file} has ${JSON.stringify(find)} ${parts.length - 1} times instead of once`);
  }
  writeFileSync(path, parts.join(replace));
}
