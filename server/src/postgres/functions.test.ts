import { expect } from "vitest";
import { functionSchema } from "./functionSchema.ts";
import { databaseTest } from "../../test/support/fixtures.ts";

const it = databaseTest({ poolSize: 1 });

/*
 * A bitmap scan reads a whole range of an index before it returns the first row, even below a limit: with statistics from a quiet
 * hour a claim would read every leased message. Whether the planner chooses it depends on the current statistics, so a test of
 * the plan itself would pass or fail by chance.
 */
it("every function with planner settings disables bitmap scans, which read past a limit", async ({
  pool,
}) => {
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
