import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import shared from "../vitest.config.ts";

/** The long runs: the same database, other files, and as much time as they take. */
export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: { ...shared.test, include: ["faults/*.test.ts"], testTimeout: 3_600_000, maxWorkers: 1 },
});
