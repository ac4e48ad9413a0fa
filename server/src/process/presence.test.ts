import { expect } from "vitest";
import { databaseTest } from "../../test/support/fixtures.ts";
import { newProcessRecord, noteAlive, noteEnd } from "../postgres/processes.ts";
import { createLog } from "../telemetry/log.ts";
import { createPresence } from "./presence.ts";

databaseTest()("a process knows whether other processes use the database", async ({ pool }) => {
  const own = newProcessRecord("1.0.0");
  const other = newProcessRecord("1.0.0");
  /** Starts a process and resolves with the first value that `onCompany` gets. */
  const company = (): Promise<boolean> =>
    new Promise((resolve) => {
      const presence = createPresence({
        pool,
        log: createLog("silent"),
        clock: { look: () => Promise.reject(new Error("not looked at here")) },
        process: own,
        onCompany: (isAccompanied) => resolve(presence.stop().then(() => isAccompanied)),
      });
      presence.start();
    });
  expect(await company()).toBe(false);
  await noteAlive(pool, other);
  expect(await company()).toBe(true);
  await noteEnd(pool, other);
  expect(await company()).toBe(false);
});
