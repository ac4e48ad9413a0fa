/**
 * Fails when a file breaks the rules of `layout.ts`, a test the rules of `storageTests.ts`, or a comment the rules of
 * `commentWords.ts`.
 * Usage: node server/scripts/checkLayout.ts [repository root]
 */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { commentProblems } from "./commentWords.ts";
import { layoutProblems, type SourceFile } from "./layout.ts";
import { storageProblems } from "./storageTests.ts";

const root = process.argv[2] ?? join(import.meta.dirname, "../..");
const files: SourceFile[] = [];

const folders = ["server", "sdk", "cli", "bench", "faults", "examples", "dashboard"];
const patterns = ["*.ts", ...folders.map((folder) => `${folder}/**/*.{ts,tsx,sql,js,cjs,mjs}`)];
for await (const path of glob(patterns, { cwd: root, exclude: ["**/node_modules", "**/dist"] })) {
  files.push({ path: path.replaceAll("\\", "/"), text: await readFile(join(root, path), "utf8") });
}

const sources = files.filter(({ path }) => /\.tsx?$/.test(path));
// Migrations never change, and comments in generated files come from their sources.
const commented = files.filter(({ path }) => !/\.generated\.|\/migrations\//.test(path));
const problems = [
  ...layoutProblems(sources),
  ...storageProblems(sources),
  ...commented.flatMap(commentProblems),
].toSorted();
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
