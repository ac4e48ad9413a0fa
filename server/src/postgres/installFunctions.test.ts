import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import type pg from "pg";
import { emptyDatabaseTest as test, testPool } from "../../test/support/fixtures.ts";
import { functionFiles, functionSchema, functionSchemaPattern } from "./functionSchema.ts";
import { installFunctions } from "./installFunctions.ts";
import { migrate } from "./migrate.ts";
import { ensurePartitions } from "./partitions.ts";

async function relationsIn(pool: pg.Pool, schema: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p')",
    [schema],
  );
  return rows.map(({ name }) => name);
}

test("a version's functions call each other, and never functions of another version", async ({ pool }) => {
  await pool.query(`
    create function slot_of(p_id uuid) returns bigint language sql as 'select 7::bigint';
    create function first_id_at(p_ms bigint) returns uuid language sql as 'select null::uuid';
    create schema postrider_f_000000000000;
    create function postrider_f_000000000000.slot_of(p_id uuid) returns bigint language sql as 'select 8::bigint'`);
  expect(functionSchema).toMatch(new RegExp(functionSchemaPattern));
  expect(await migrate(pool)).toContain(functionSchema);
  expect(await migrate(pool)).toEqual([]);
  const id = "00000010-0000-7000-8000-000000000000";
  const { rows } = await pool.query(
    `select slot_of($1), public.slot_of($1) as before, postrider_f_000000000000.slot_of($1) as other,
       replay_event($1, $1, $1, 0, true) as replayed`,
    [id],
  );
  expect(rows[0]).toEqual({ slot_of: 2 ** 10, before: 7, other: 8, replayed: "(n,,)" });
});

test("tables are created in the schema of the other tables, never in that of the functions", async ({
  pool,
}) => {
  await migrate(pool);
  await ensurePartitions(pool, Date.now() + 30 * 86_400_000);
  expect(await relationsIn(pool, functionSchema)).toEqual([]);
  expect(await relationsIn(pool, "public")).toContain("events");
});

test("a database with its own default search path has its tables in that schema", async ({
  pool: before,
  database,
}) => {
  await before.query("create schema home");
  await before.query(`do $$ begin
    execute format('alter database %I set search_path = home', current_database());
  end $$`);
  // Open sessions keep the search path with which they began.
  const pool = testPool(database, 2);
  await migrate(pool);
  await ensurePartitions(pool, Date.now() + 30 * 86_400_000);
  expect(await relationsIn(pool, "public")).toEqual([]);
  expect(await relationsIn(pool, "home")).toContain("processes");
  expect((await pool.query("select sweep_deliveries()")).rowCount).toBe(1);
  await pool.end();
});

test("when the user may not create schemas, the error says what to grant", async ({ pool }) => {
  const role = `postrider_test_${randomBytes(4).toString("hex")}`;
  const client = await pool.connect();
  await client.query(`create role ${role}; set role ${role}`);
  await expect(installFunctions(client)).rejects.toThrow("grant it CREATE on the database");
  await client.query(`reset role; drop role ${role}`);
  client.release();
});

test("no SQL file drops functions or sets planner options: installFunctions does both", () => {
  for (const { name, text } of functionFiles) {
    expect(text, name).not.toMatch(/^(drop function|set (plan_cache_mode|jit|enable_))/m);
  }
});
