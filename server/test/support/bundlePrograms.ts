import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { bundlePrograms, root, serviceEntries, unbundledPackages } from "../../scripts/bundlePrograms.ts";

/** The service, and the programs that tests run beside it: bundled because tests start several hundred processes. */
const entries = [
  ...serviceEntries,
  "server/test/support/agent/agentMain.ts",
  "server/test/support/embeddedMain.ts",
  "server/test/support/stripeStandIn/main.ts",
  "bench/src/budget/budgetProgram.ts",
];
/** Not bundled, because a test checks that the log's library is not loaded. */
const external = [...unbundledPackages, /^pino$/];

/**
 * Bundles the programs into a folder of this run, once for all projects. Returns a function that removes the
 * folder. With `POSTRIDER_TEST_SOURCES=1` tests run the sources, for stack traces and profiles that name them.
 */
export async function setup(): Promise<() => Promise<void>> {
  if (process.env["TEST_PROGRAMS"] !== undefined || process.env["POSTRIDER_TEST_SOURCES"] === "1")
    return () => Promise.resolve();
  const cache = join(root, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "programs-"));
  // Some programs run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755);
  await bundlePrograms({ entries, external, folder });
  // Inherited by the workers and the processes that they start.
  process.env["TEST_PROGRAMS"] = folder;
  return () => rm(folder, { recursive: true, force: true });
}
