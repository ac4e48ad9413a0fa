import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { applyEdit } from "./applyEdit.ts";
import { mutants } from "./knownBadBuilds.ts";
import type { Mutant } from "./mutant.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Copies every file, including the tests, because some tests run the service in their own process. */
function build(mutant: Mutant, folder: string): void {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const path of listed.split("\0")) {
    if (path === "" || !existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, path));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  // Some programs run as another user and have to read the copy.
  chmodSync(folder, 0o755);
  for (const edit of mutant.edits) applyEdit(edit, folder);
}

interface Report {
  testResults: {
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

/**
 * Returns the first line of the check's failure message; undefined when the check passes.
 * @throws {Error} when the run fails in another way.
 */
async function runCheck(mutant: Mutant, folder: string): Promise<string | undefined> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const file = `server/test/${mutant.test}.test.ts`;
  const reportFile = join(folder, "report.json");
  const args = [vitest, "run", "--project=all", "--reporter=json", `--outputFile=${reportFile}`];
  const child = spawn(process.execPath, [...args, file, "-t", RegExp.escape(mutant.check)], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: "ignore",
  });
  await new Promise((resolve) => child.once("exit", resolve));
  const { testResults } = JSON.parse(readFileSync(reportFile, "utf8")) as Report;
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "passed" || status === "failed");
  if (ran.length === 0) {
    throw new Error(`no check ran: ${testResults.map(({ message }) => message).join("\n")}`);
  }
  const failures = ran.flatMap(({ failureMessages }) => failureMessages);
  if (failures.length === 0) return undefined;
  const expected = failures.find((message) => mutant.violation.test(message));
  if (expected === undefined) throw new Error(`failed for another reason:\n${failures.join("\n")}`);
  return expected.split("\n")[0];
}

const wanted = process.argv[2] ?? "";
const bad: string[] = [];
for (const mutant of mutants.filter(({ name }) => name.includes(wanted))) {
  const folder = mkdtempSync(join(tmpdir(), "postrider-mutant-"));
  const startedAtMs = performance.now();
  let outcome: string;
  try {
    build(mutant, folder);
    const violation = await runCheck(mutant, folder);
    outcome = violation === undefined ? "SURVIVED" : `caught: ${violation}`;
  } catch (error) {
    outcome = `BROKEN: ${(error as Error).message}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (!outcome.startsWith("caught")) bad.push(mutant.name);
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  console.log(`${mutant.name} (${mutant.test}, ${seconds} s)\n        ${outcome}`);
}
process.exitCode = bad.length === 0 ? 0 : 1;
