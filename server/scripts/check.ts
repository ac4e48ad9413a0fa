import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { setPriority } from "node:os";

/**
 * The whole gate. Tests wait for processes and clocks for a quarter of their time: the checks that run no test take that, at a
 * lower priority. What fails there ends the tests. The last line is Vitest's, `N passed, N failed`.
 */

/** Builds the page that tests open, and must not do so beside them. */
const first = ["size", "format:check"];
const beside = ["types", "lint", "dead-code", "generated:check"];
const lowPriority = 10;

const statics = join(import.meta.dirname, "checkStatic.ts");
const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");

process.exitCode = (await ended(run([statics, ...first]))) === 0 ? await checkAndTest() : 1;

async function checkAndTest(): Promise<number> {
  const checks = spawn(process.execPath, [statics, ...beside], { stdio: ["ignore", "pipe", "pipe"] });
  if (checks.pid !== undefined) setPriority(checks.pid, lowPriority);
  let said = "";
  for (const stream of [checks.stdout, checks.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const tests = run([vitest, "run"]);
  let isTesting = true;
  const checked = ended(checks).then((code) => {
    if (code !== 0 && isTesting) tests.kill("SIGTERM");
    else if (isTesting) process.stdout.write(`\n${said}\n`);
    return code;
  });
  const testCode = await ended(tests);
  isTesting = false;
  const checkCode = await checked;
  if (checkCode !== 0) process.stdout.write(`\n${said}\n`);
  return testCode === 0 && checkCode === 0 ? 0 : 1;
}

function run(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, args, { stdio: "inherit" });
}

/** The exit code; 1 for one that a signal ended. */
function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", (code) => resolve(code ?? 1));
  });
}
