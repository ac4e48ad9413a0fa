import { globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { closingLine } from "./server/scripts/closingLine.ts";
import { LongestFirst } from "./server/scripts/longestFirst.ts";
import { silence } from "./server/scripts/silence.ts";

// Processes that tests start compile the sources they share once, which is half of the time that a start takes.
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "postrider-compile-cache");

/**
 * Tests that run through the fast paths: acceptance, attempts, claims and their changes, and the comparisons of the fast paths
 * with their plain twins. Tests of decisions within SQL, or behind the same calls, run in the other project only.
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

/** The same with two cells on the workers of a Citus cluster, instead of everything else. */
const onCitus = {
  extends: true as const,
  test: { name: "citus", include: onWorkers, env: { TEST_CELLS: "2" } },
};
/**
 * Tests that stand timers still. Each has a process of its own: in the others, services of earlier files run on, and a timer
 * of theirs that was set while time stood still would never fire.
 */
const standingStill = globSync("{server,sdk,cli,bench,dashboard,faults}/**/*.test.ts", {
  cwd: import.meta.dirname,
  exclude: ["**/node_modules/**"],
}).filter((path) => readFileSync(join(import.meta.dirname, path), "utf8").includes("vi.useFakeTimers("));

const isOnCitus = (process.env["TEST_CITUS_URL"] ?? "") !== "";

export default defineConfig({
  test: {
    // No test has a limit of more than a quarter of an hour.
    reporters: ["default", closingLine, silence(15 * 60_000)],
    sequence: { sequencer: LongestFirst },
    globalSetup: ["server/test/support/globalDatabase.ts", "server/test/support/bundlePrograms.ts"],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // As long as a page or a service may take for one thing on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    // Most files wait for processes and clocks for half of their time: with two workers a core, the cores have something to
    // do. With three, the gate was not sooner over, and tests waited for one another.
    maxWorkers: 4,
    // Files share nothing but modules; importing the service anew for each takes a fifth of the processors' time.
    isolate: false,
    // Node runs these sources as they are, and keeps what it compiled: Vite's transforms, once a project, and the way in
    // which they read each imported name take a sixth of the processors' time. Nothing here replaces modules by mocks.
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
            // With everything off that was written by hand for speed: see server/test/support/plain.ts.
            test: { name: "plain", include: core, env: { TEST_PLAIN: "1" } },
          },
          {
            extends: true,
            // With the data plane in four schemas: see docs/scaling.md.
            test: { name: "cells", include: acrossCells, env: { TEST_CELLS: "4" } },
          },
        ],
  },
});
