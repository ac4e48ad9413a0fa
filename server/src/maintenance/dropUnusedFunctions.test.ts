import { expect } from "vitest";
import { functionSchema } from "../postgres/functionSchema.ts";
import { migrationLockKey } from "../postgres/migrate.ts";
import { dropUnusedFunctions } from "./dropUnusedFunctions.ts";
import { stageTest } from "../../test/support/fixtures.ts";

const it = stageTest
  /** Creates functions of another version, and the row of a process of that version, last seen `seen` ago. */
  .extend("otherVersion", ({ pool }) => async (digit: string, seen: string): Promise<string> => {
    const schema = `postrider_f_${digit.repeat(12)}`;
    await pool.query(`
    create schema ${schema};
    create type ${schema}.pair as (one integer, other text);
    create function ${schema}.one(integer) returns integer language sql as 'select 1';
    create function ${schema}.both() returns ${schema}.pair language sql as $$ select row(1, 'a') $$;
    create function ${schema}.one(text) returns integer language sql as 'select 1'`);
    await pool.query(
      `insert into processes (id, version, host, migration, functions, seen_at)
     values (gen_random_uuid(), '1', 'h', 10, $1, now() - $2::interval)`,
      [schema, seen],
    );
    return schema;
  })
  .extend("schemas", ({ pool }) => async (): Promise<string[]> => {
    const { rows } = await pool.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname like 'postrider%' order by nspname",
    );
    return rows.map(({ name }) => name);
  });

it("a version's functions are dropped when no process has used them for a day, but never this process's own", async ({
  otherVersion,
  pool,
  schemas,
}) => {
  const used = await otherVersion("a", "23 hours 59 minutes");
  const unused = await otherVersion("b", "24 hours 1 minute");
  await pool.query("create schema postrider_files");
  expect(await schemas()).toContain(unused);
  expect(await dropUnusedFunctions(pool)).toBe(1);
  expect(await schemas()).toEqual([functionSchema, used, "postrider_files"].sort());
  const { rows } = await pool.query("select functions from processes");
  expect(rows).toEqual([{ functions: used }]);
  expect(await dropUnusedFunctions(pool)).toBe(0);
});

it("nothing is dropped while a process starts", async ({ otherVersion, pool }) => {
  await otherVersion("c", "2 days");
  const starting = await pool.connect();
  await starting.query("select pg_advisory_lock($1)", [migrationLockKey]);
  expect(await dropUnusedFunctions(pool)).toBe(0);
  starting.release(true);
});

it("a schema of functions that also contains somebody else's table is not dropped", async ({
  otherVersion,
  pool,
  schemas,
}) => {
  const schema = await otherVersion("d", "2 days");
  await pool.query(`create table ${schema}.kept (id integer)`);
  await expect(dropUnusedFunctions(pool)).rejects.toThrow(/other objects depend on it/);
  expect(await schemas()).toContain(schema);
});
