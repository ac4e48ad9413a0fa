/**
 * Fails when a file breaks the rules of `layout.ts`.
 * Usage: node server/scripts/checkLayout.ts [repository root]
 */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { layoutProblems, type SourceFile } from "./layout.ts";

const root = process.argv[2] ?? join(import.meta.dirname, "../..");
const files: SourceFile[] = [];

const patterns = ["server", "sdk", "cli", "bench", "faults", "examples", "dashboard"].map(
  (folder) => `${folder}/**/*.{ts,tsx}`,
);
for await (const path of glob(patterns, { cwd: root, exclude: ["**/node_modules", "**/dist"] })) {
  files.push({ path: path.replaceAll("\\", "/"), text: await readFile(join(root, path), "utf8") });
}

const problems = layoutProblems(files).toSorted();
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
