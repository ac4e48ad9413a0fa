import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import type pg from "pg";
import { functionSchema } from "./functionSchema.ts";
import { createPool } from "./pool.ts";

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

/*
 * A bitmap is made of a whole range of an index before its first row is looked at, whatever limit stands above it: with
 * statistics from a quiet hour a claim would read every leased message. The planner picks it or not by the numbers of the
 * moment, so that a test of the plan would pass or fail by chance.
 */
test("no function that steers the planner may meet a plan that reads past its limit", async () => {
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
