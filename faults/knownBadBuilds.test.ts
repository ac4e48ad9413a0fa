import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { functionStatements } from "../server/scripts/sqlRules/statements.ts";
import { rareCollection } from "../server/scripts/staticChecks.ts";
import { applyEdit } from "./applyEdit.ts";
import { mutants } from "./knownBadBuilds.ts";
import type { Mutant } from "./mutant.ts";

const root = join(import.meta.dirname, "..");

/** Returns a temporary copy of the sources that the type check of the service needs. */
function copySources(): string {
  const folder = mkdtempSync(join(tmpdir(), "postrider-bad-builds-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "server/src"), join(folder, "server/src"), { recursive: true });
  for (const path of ["package.json", "server/package.json", "tsconfig.json"]) {
    cpSync(join(root, path), join(folder, path));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  // A removed check may leave a variable unused; that must not fail the type check.
  const config = {
    extends: "./tsconfig.json",
    compilerOptions,
    include: ["server/src"],
    exclude: ["**/*.test.ts"],
  };
  writeFileSync(join(folder, "tsconfig.check.json"), JSON.stringify(config));
  return folder;
}

function isTyped(mutant: Mutant): boolean {
  return mutant.edits.some(({ file }) => file.endsWith(".ts"));
}

function filesOf(mutant: Mutant): Set<string> {
  return new Set(mutant.edits.map(({ file }) => file));
}

describe("each known-bad build", () => {
  it.each(mutants)('"$name" edits a text that occurs once, and names a check that exists', (mutant) => {
    const folder = mkdtempSync(join(tmpdir(), "postrider-bad-build-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const file of filesOf(mutant))
      cpSync(join(root, "server/src", file), join(folder, "server/src", file));
    for (const edit of mutant.edits) applyEdit(edit, folder);
    for (const file of filesOf(mutant)) {
      if (!file.endsWith(".sql")) continue;
      const definition = readFileSync(join(folder, "server/src", file), "utf8");
      const language = /language (\w+)/.exec(definition)![1]!;
      expect(functionStatements({ name: file, language, definition })).not.toEqual([]);
    }
    expect(readFileSync(join(root, `server/test/${mutant.test}.test.ts`), "utf8")).toContain(mutant.check);
    const promised = mutant.promise === null ? "# " : `\n## ${mutant.promise}. `;
    expect(readFileSync(join(root, "docs/guarantees.md"), "utf8")).toContain(promised);
  });

  // All edits go into one copy, so that the compiler runs once. Edits of the same lines would need a second copy.
  it("compiles", () => {
    const folder = copySources();
    for (const edit of mutants.filter(isTyped).flatMap(({ edits }) => edits)) applyEdit(edit, folder);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const args = [tsc, "--noEmit", "--singleThreaded", "-p", "tsconfig.check.json"];
    const env = { ...process.env, GOGC: rareCollection };
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: "utf8" });
    expect(stdout).toBe("");
  });
});
