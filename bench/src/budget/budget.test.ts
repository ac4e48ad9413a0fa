import { expect, test } from "vitest";
import { installedVersion, programsOf } from "../../../server/test/support/postgresVersions.ts";
import { readBudget } from "./budget.ts";
import { breaches } from "./compareBudget.ts";
import { measureBudget } from "./measureBudget.ts";

test("an item costs what budget.json says, on every path", async () => {
  // One budget for all versions: they differ by less than 1 %.
  const { programs } = programsOf(Number(process.env["TEST_POSTGRES"] ?? installedVersion));
  expect(breaches(await measureBudget(programs), await readBudget())).toEqual([]);
});
