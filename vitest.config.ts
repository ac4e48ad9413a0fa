import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { closingLine } from "./server/scripts/closingLine.ts";
import { LongestFirst } from "./server/scripts/longestFirst.ts";
import { silence } from "./server/scripts/silence.ts";

// A compile cache shared by all processes that tests start: without it, compiling takes half of the time of a start. Node never
// removes entries of changed sources; in this folder, the next `npm ci` does.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled");

/**
 * Tests that use the fast paths: acceptance, attempts, claims and their changes, and comparisons of fast paths with their plain
 * twins. The project `plain` repeats them with the fast paths off. It has no tests of decisions within SQL, or of code behind
 * calls that are the same with and without fast paths.
 */
const core = [
  "server/src/postgres/hot/{callFunction,binaryRow}.test.ts",
  "server/src/{delivery/rows/store,mailbox/finish/sweepMessages}.test.ts",
  "server/test/{accepted-item-survives-crash,standard-webhooks-delivery}.test.ts",
  "server/test/{one-item-per-idempotency-key,bad-receivers-leave-a-reason}.test.ts",
  "server/test/{mailbox-contract,mailbox-changes,handoff-contract}.test.ts",
  "server/test/own-headers-reach-receivers-and-stay-secret.test.ts",
];

/** Tests of requests, deliveries, claims, handoffs, replays and billing whose results must not depend on the item's cell. */
const acrossCells = [
  "server/test/{standard-webhooks-delivery,one-item-per-idempotency-key,one-usage-record-per-item}.test.ts",
  "server/test/{publish-reaches-all-targets,publications-are-replayed-and-erased,mailbox-contract,mailbox-long-poll,handoff-contract}.test.ts",
  "server/test/{events-replay,events-cancel,limited-keys-reach-their-own-things-only}.test.ts",
  "server/test/{billing-months,billing-states}.test.ts",
];

/** Further tests of items that read them through the interface only. */
const onWorkers = [
  ...acrossCells,
  "server/test/{cells-on-citus,cells-survive-the-way-to-servers-and-back,cells-move-while-items-come}.test.ts",
  "server/test/{cells-are-reached-straight,cell-routes-fall-back}.test.ts",
  "faults/src/a-start-does-not-wait-for-a-worker.test.ts",
  "server/test/{filters-choose-items,customers,target-health,revocation-is-immediate}.test.ts",
  "server/test/{events-read,replays-are-listed-and-bounded,erasure-leaves-nothing,tryout-shows-what-a-receiver-gets}.test.ts",
  "server/test/{mailbox-ordering,mailbox-order-on-citus,mailboxes-by-hand,handoff-follows-task,handoff-results,handoff-steering}.test.ts",
];

/** The only project when TEST_CITUS_URL is set: its tests run with two cells on the workers of a Citus cluster. */
const onCitus = {
  extends: true as const,
  test: { name: "citus", include: onWorkers, env: { TEST_CELLS: "2" } },
};
/**
 * Tests with fake timers. Each runs in a process of its own: in a shared process, services of earlier files are still running,
 * and a timer that they set while timers are fake would never fire.
 */
const standingStill = globSync("{server,sdk,cli,bench,dashboard,faults}/**/*.test.ts", {
  cwd: import.meta.dirname,
  exclude: ["**/node_modules/**"],
}).filter((path) => readFileSync(join(import.meta.dirname, path), "utf8").includes("vi.useFakeTimers("));

const isOnCitus = (process.env["TEST_CITUS_URL"] ?? "") !== "";

export default defineConfig({
  test: {
    // No test has a time limit of more than 15 minutes.
    reporters: ["default", closingLine, silence(15 * 60_000)],
    sequence: { sequencer: LongestFirst },
    globalSetup: ["server/test/support/globalDatabase.ts", "server/test/support/bundlePrograms.ts"],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // The longest time that a page or a service may take for one step on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    // Two workers for each of two cores, because most files spend half of their time waiting for processes and clocks. With three
    // per core, the gate was not faster, and tests waited for each other.
    maxWorkers: 4,
    // Files share only modules. With isolation, importing the service again for each file takes a fifth of the CPU time.
    isolate: false,
    // Node runs these sources without Vite, and caches the compiled code. Vite's transforms, once per project, and its slower
    // access to imported names would take a sixth of the CPU time. Without Vite, tests cannot mock modules; none does.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: isOnCitus
      ? [onCitus]
      : [
          {
            extends: true,
            test: {
              name: "all",
              include: [
                "{server,sdk,cli,bench,dashboard}/**/*.test.ts",
                "faults/{knownBadBuilds.test,src/**/*.test}.ts",
              ],
              exclude: [...configDefaults.exclude, ...standingStill],
            },
          },
          { extends: true, test: { name: "timers", include: standingStill, isolate: true } },
          {
            extends: true,
            // With the fast paths off: see server/test/support/plain.ts.
            test: { name: "plain", include: core, env: { TEST_PLAIN: "1" } },
          },
          {
            extends: true,
            // With the data plane divided into four cells (schemas): see docs/scaling.md.
            test: { name: "cells", include: acrossCells, env: { TEST_CELLS: "4" } },
          },
        ],
  },
});
