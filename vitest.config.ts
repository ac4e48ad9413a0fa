import { defineConfig } from "vitest/config";
import { closingLine } from "./server/scripts/closingLine.ts";

export default defineConfig({
  test: {
    include: ["{server,sdk,bench,dashboard}/**/*.test.ts", "faults/knownBadBuilds.test.ts"],
    reporters: ["default", closingLine],
    globalSetup: ["server/test/support/globalDatabase.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Each worker drives PostgreSQL and child processes of its own; more only compete for the same cores.
    maxWorkers: 2,
  },
});
