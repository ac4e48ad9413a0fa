import { runCheck, staticChecks } from "./staticChecks.ts";

/**
 * Runs the gate's static checks concurrently. Prints each check's duration, and the output of those that failed; exits with 1 if
 * one failed.
 */
const results = await Promise.all(staticChecks.map(runCheck));
for (const { name, passed, seconds, output } of results) {
  process.stdout.write(`${passed ? "passed" : "FAILED"}  ${name} (${seconds.toFixed(1)} s)\n`);
  if (!passed) process.stdout.write(`${output}\n`);
}
if (results.some(({ passed }) => !passed)) process.exitCode = 1;
