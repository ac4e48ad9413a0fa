import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isRunning, processesSaying } from "./support/embeddedProcess.ts";
import { startProgram } from "./support/program.ts";
import { until } from "./support/until.ts";
import { clusterFolder } from "./support/clusterFolder.ts";

const root = join(import.meta.dirname, "../..");
// The same directory each time: the next start must find it as a graceful stop leaves it.
const dataDir = mkdtempSync(join(clusterFolder(), "postrider-npm-start-"));
const hasNpm = spawnSync("npm", ["--version"]).status === 0;

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe.runIf(hasNpm && process.platform === "linux")("npm start", () => {
  it.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)(
    "that ends by %s stops the service and its database",
    async (signal) => {
      const npm = startProgram({
        command: ["npm", "start"],
        cwd: root,
        env: { POSTRIDER_DATA_DIR: dataDir },
      });
      await npm.says(/listens on/);
      const service = Number(readFileSync(join(dataDir, "service.pid"), "utf8"));
      expect(isRunning(service)).toBe(true);
      npm.kill(signal);
      await until(
        () => isRunning(service),
        (runs) => !runs,
      );
      // Gracefully: PostgreSQL was stopped by the service, not by its guard.
      await until(
        () => processesSaying(dataDir),
        (left) => left.length === 0,
      );
      await npm.ended;
      expect(npm.output()).not.toMatch(/did not shut down|will recover/);
    },
    180_000,
  );
});
