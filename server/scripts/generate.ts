/**
 * Writes the files that are made from the code, or with `--check` compares them with what is committed.
 * Usage: node server/scripts/generate.ts [--check]
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { interfaceTypes } from "../../dashboard/scripts/interfaceTypes.ts";
import { configurationPage } from "./configurationPage.ts";
import { describeInterface, openApiFile, sdkFile } from "./openApiFile.ts";

interface GeneratedFile {
  /** Relative to the repository's root. */
  path: string;
  generate: () => string | Promise<string>;
}

const root = join(import.meta.dirname, "../..");

const generatedFiles: readonly GeneratedFile[] = [
  { path: "docs/configuration.md", generate: configurationPage },
  { path: "openapi.json", generate: openApiFile },
  { path: "sdk/src/operations.generated.ts", generate: sdkFile },
  { path: "dashboard/src/api/interface.generated.ts", generate: () => interfaceTypes(describeInterface()) },
];

const check = process.argv.includes("--check");
let stale = 0;

for (const file of generatedFiles) {
  const path = join(root, file.path);
  const wanted = await file.generate();
  if ((await readExisting(path)) === wanted) continue;
  if (check) {
    stale += 1;
    console.error(`${file.path} differs from what the code generates; run: npm run generated`);
  } else {
    await writeFile(path, wanted);
    console.log(`wrote ${file.path}`);
  }
}
if (stale > 0) process.exitCode = 1;

async function readExisting(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
