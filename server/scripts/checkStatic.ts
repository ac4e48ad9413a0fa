import { runCheck, staticChecks } from "./staticChecks.ts";

/**
 * The gate's checks that run no test, all at once. Prints what failed as it said it, and how long each took; ends with 1 when
 * one failed.
 */
const results = await Promise.all(staticChecks.map(runCheck));
for (const { name, passed, seconds, output } of results) {
  process.stdout.write(`${passed ? "passed" : "FAILED"}  ${name} (${seconds.toFixed(1)} s)\n`);
  if (!passed) process.stdout.write(`${output}\n`);
}
if (results.some(({ passed }) => !passed)) process.exitCode = 1;
