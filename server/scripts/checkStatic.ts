import { spawn } from "node:child_process";

/**
 * The gate's checks that run no test, all at once: each reads the same files and none writes. Prints what failed as it said
 * it, and how long each took; ends with 1 when one failed.
 */
const checks = ["types", "lint", "dead-code", "generated:check", "size", "format:check"];

interface Result {
  name: string;
  passed: boolean;
  seconds: number;
  output: string;
}

function run(name: string): Promise<Result> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const child = spawn(npm, ["run", "--silent", name], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.once("error", (error) => (output += `${error.message}\n`));
    child.once("close", (code) => {
      resolve({ name, passed: code === 0, seconds: (performance.now() - startedAtMs) / 1000, output });
    });
  });
}

const results = await Promise.all(checks.map(run));
for (const { name, passed, seconds, output } of results) {
  process.stdout.write(`${passed ? "passed" : "FAILED"}  ${name} (${seconds.toFixed(1)} s)\n`);
  if (!passed) process.stdout.write(`${output}\n`);
}
if (results.some(({ passed }) => !passed)) process.exitCode = 1;
