import { spawn } from "node:child_process";

/** Result of one check, with all its output and its duration in seconds. */
export interface CheckResult {
  name: string;
  passed: boolean;
  seconds: number;
  output: string;
}

/** The gate's static checks. None changes a file that another reads, so they run at the same time, together with the tests. */
export const staticChecks = ["types", "lint", "dead-code", "generated:check", "size", "format:check"];

/**
 * GOGC of the compiler and the linter, which are Go programs: collects garbage when the heap has grown to five times the live
 * data, instead of twice. Saves a fifth of their processor time, and needs at most 2 GB.
 */
export const rareCollection = "400";

/** Runs one check, a script of the root's package.json. A check that cannot be started has failed. */
export function runCheck(name: string): Promise<CheckResult> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const env = { ...process.env, GOGC: rareCollection };
    const child = spawn(npm, ["run", "--silent", name], {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.once("error", (error) => (output += `${error.message}\n`));
    child.once("close", (code) => {
      resolve({ name, passed: code === 0, seconds: (performance.now() - startedAtMs) / 1000, output });
    });
  });
}

const root = `${import.meta.dirname}/../..`;
