import { expect } from "vitest";
import { functionSchema } from "./functionSchema.ts";
import { databaseTest } from "../../test/support/fixtures.ts";

const it = databaseTest({ poolSize: 1 });

/*
 * A bitmap is made of a whole range of an index before its first row is looked at, whatever limit stands above it: with
 * statistics from a quiet hour a claim would read every leased message. The planner picks it or not by the numbers of the
 * moment, so that a test of the plan would pass or fail by chance.
 */
it("no function that steers the planner may meet a plan that reads past its limit", async ({ pool }) => {
  const { rows } = await pool.query<{ name: string; settings: string[] }>(
    `select proname as name, proconfig as settings
     from pg_proc
     where pronamespace = $1::regnamespace
       and 'enable_seqscan=off' = any (proconfig)`,
    [functionSchema],
  );
  expect(rows.length).toBeGreaterThan(15);
  for (const { name, settings } of rows) expect(settings, name).toContain("enable_bitmapscan=off");
});
