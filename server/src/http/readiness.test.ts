import { expect } from "vitest";
import { databaseTest } from "../../test/support/fixtures.ts";
import { createClockCheck } from "../postgres/clock.ts";
import { createLog } from "../telemetry/log.ts";
import { createReadiness } from "./readiness.ts";

const it = databaseTest();

it("a worker with fsync off is a warning for its cell, beside one that accepts nothing", async ({ pool }) => {
  const intake = { trouble: () => undefined, forgetTrouble: () => undefined };
  const away = {
    ...intake,
    trouble: () => ({ error: new Error("timeout expired"), atMs: performance.now() }),
  };
  const check = createReadiness({
    pool,
    clock: createClockCheck({ pool, nowMs: Date.now, log: createLog("silent") }),
    whyOvertaken: () => Promise.resolve(undefined),
    intake,
    apart: () => [
      { name: "cell 0 on db-1:5432", pool, intake },
      { name: "cell 1 on db-2:5432", pool, intake: away },
    ],
  });
  // The tests' server has fsync off.
  expect(await check()).toEqual({
    refusal: undefined,
    warnings: [
      "cell 1 on db-2:5432 accepts nothing: the database does not answer in time",
      expect.stringMatching(/^cell 0 on db-1:5432: .* set fsync = on/),
      expect.stringMatching(/^cell 1 on db-2:5432: .* set fsync = on/),
    ],
  });
});
