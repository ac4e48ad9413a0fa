import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type pg from "pg";
import { createEmptyTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { repeatDeadlocked } from "./deadlock.ts";
import { createPool, inTransaction } from "./pool.ts";
import { createQueries, inTransactionOf } from "./tables.ts";
import { sql } from "kysely";

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createEmptyTestDatabase();
  pool = createPool({ connection: database.connection, size: 2, onError: () => undefined });
  await pool.query("create table counters (name text primary key, count integer not null)");
});

beforeEach(async () => {
  await pool.query("truncate counters; insert into counters values ('one', 0), ('other', 0)");
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** A barrier: resolves when `count` callers have arrived, and at once for later callers. */
function meetingOf(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let come = 0;
  return () => {
    come += 1;
    if (come === count) all.resolve();
    return all.promise;
  };
}

const increase = "update counters set count = count + 1 where name = $1";

it("two transactions that deadlock both take place, each once", async () => {
  const bothHaveOne = meetingOf(2);
  let runs = 0;
  const inOrder = (first: string, second: string) =>
    inTransaction(pool, async (client) => {
      runs += 1;
      await client.query("set local deadlock_timeout = '20ms'");
      await client.query(increase, [first]);
      await bothHaveOne();
      await client.query(increase, [second]);
      return first;
    });
  expect(await Promise.all([inOrder("one", "other"), inOrder("other", "one")])).toEqual(["one", "other"]);
  // The one that was ended runs again, and on a busy machine once more.
  expect(runs).toBeGreaterThan(2);
  const { rows } = await pool.query("select count from counters");
  expect(rows).toEqual([{ count: 2 }, { count: 2 }]);
});

it("those of the query builder, too", async () => {
  const queries = createQueries(pool);
  const bothHaveOne = meetingOf(2);
  let runs = 0;
  const inOrder = (first: string, second: string) =>
    inTransactionOf(queries, async (transaction) => {
      runs += 1;
      await sql`set local deadlock_timeout = '20ms'`.execute(transaction);
      await sql`update counters set count = count + 1 where name = ${first}`.execute(transaction);
      await bothHaveOne();
      await sql`update counters set count = count + 1 where name = ${second}`.execute(transaction);
    });
  await Promise.all([inOrder("one", "other"), inOrder("other", "one")]);
  expect(runs).toBe(3);
});

it("is not repeated for ever, nor for another reason", async () => {
  let runs = 0;
  const failWith = (code: string) =>
    repeatDeadlocked(() => {
      runs += 1;
      return Promise.reject(Object.assign(new Error("refused"), { code }));
    });
  await expect(failWith("40P01")).rejects.toThrow("refused");
  expect(runs).toBe(4);
  await expect(failWith("23505")).rejects.toThrow("refused");
  expect(runs).toBe(5);
});
