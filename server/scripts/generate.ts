/**
 * Writes the files that are generated from the code; with `--check`, compares them with the present files instead.
 * Usage: node server/scripts/generate.ts [--check]
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "../src/postgres/embedded/startEmbedded.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { createPool } from "../src/postgres/pool.ts";
import { figureFiles } from "../../bench/src/figures/files.ts";
import { interfaceTypes } from "../../dashboard/scripts/interfaceTypes.ts";
import { configurationPage } from "./configurationPage.ts";
import { functionSignatures } from "./functionSignatures.ts";
import { kindsOfCommand, kindsOfDashboard, kindsSql } from "./kindFiles.ts";
import { describeInterface, openApiFile, routesFile, sdkFile } from "./openApiFile.ts";

interface GeneratedFile {
  /** Relative to the repository's root. */
  path: string;
  generate: () => string | Promise<string>;
}

const root = join(import.meta.dirname, "../..");

const check = process.argv.includes("--check");

const generatedFiles: readonly GeneratedFile[] = [
  { path: "docs/configuration.md", generate: configurationPage },
  { path: "docs/routes.md", generate: routesFile },
  { path: "server/src/postgres/sql/kinds.generated.sql", generate: kindsSql },
  { path: "openapi.json", generate: openApiFile },
  { path: "sdk/src/operations.generated.ts", generate: sdkFile },
  { path: "dashboard/src/api/interface.generated.ts", generate: () => interfaceTypes(describeInterface()) },
  { path: "dashboard/src/targets/kinds/kinds.generated.ts", generate: kindsOfDashboard },
  { path: "cli/src/commands/targetKinds.generated.ts", generate: kindsOfCommand },
  ...(await figureFiles()).map(({ path, text }) => ({ path, generate: () => text })),
  // Needs a database, so `--check` skips it; functionSignatures.test.ts compares it instead.
  ...(check
    ? []
    : [{ path: "server/src/postgres/sql/functions.generated.ts", generate: signaturesFromDatabase }]),
];

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

async function signaturesFromDatabase(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "postrider-generate-"));
  const database = await startEmbedded({ dataDir, settings: { fsync: "off" }, log: () => undefined });
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  try {
    await migrate(pool);
    return await functionSignatures(pool);
  } finally {
    await pool.end();
    await database.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
