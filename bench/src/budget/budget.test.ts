import { expect, test } from "vitest";
import { installedVersion, programsOf } from "../../../server/test/support/postgresVersions.ts";
import { readBudget } from "./budget.ts";
import { breaches } from "./compareBudget.ts";
import { measureBudget } from "./measureBudget.ts";

test("the cost of an item on every path is within budget.json", async () => {
  // One budget for all versions of PostgreSQL: their costs differ by less than 1 %.
  const { programs } = programsOf(Number(process.env["TEST_POSTGRES"] ?? installedVersion));
  expect(breaches(await measureBudget(programs), await readBudget())).toEqual([]);
});
