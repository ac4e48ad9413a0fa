import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type pg from "pg";
import { createEmptyTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { createPool, inTransaction, repeatDeadlocked } from "./pool.ts";
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

/**
 * Runs two transactions that update two counters in opposite orders, and lets both update their first counter before their second
 * one: a deadlock. The transaction that PostgreSQL ends is repeated only after the other one is over, so that it does not lock
 * its first counter again before the other transaction does.
 * @returns the results, and the number of runs of both transactions together.
 */
async function deadlock<T>(
  start: (
    first: string,
    second: string,
    run: { begin: () => Promise<void>; meet: () => Promise<void> },
  ) => Promise<T>,
): Promise<{ results: T[]; runs: number }> {
  const meet = meetingOf(2);
  let runs = 0;
  const oneIsOver = Promise.withResolvers<void>();
  const run = async (first: string, second: string): Promise<T> => {
    let isRepeated = false;
    const begin = async (): Promise<void> => {
      runs += 1;
      if (isRepeated) await oneIsOver.promise;
      isRepeated = true;
    };
    const result = await start(first, second, { begin, meet });
    oneIsOver.resolve();
    return result;
  };
  const results = await Promise.all([run("one", "other"), run("other", "one")]);
  return { results, runs };
}

const increase = "update counters set count = count + 1 where name = $1";

it("two transactions that deadlock are both committed, each once", async () => {
  const { results, runs } = await deadlock((first, second, { begin, meet }) =>
    inTransaction(pool, async (client) => {
      await begin();
      await client.query("set local deadlock_timeout = '20ms'");
      await client.query(increase, [first]);
      await meet();
      await client.query(increase, [second]);
      return first;
    }),
  );
  expect(results).toEqual(["one", "other"]);
  expect(runs).toBe(3);
  const { rows } = await pool.query("select count from counters");
  expect(rows).toEqual([{ count: 2 }, { count: 2 }]);
});

it("two transactions of the query builder that deadlock are both committed", async () => {
  const queries = createQueries(pool);
  const { runs } = await deadlock((first, second, { begin, meet }) =>
    inTransactionOf(queries, async (transaction) => {
      await begin();
      await sql`set local deadlock_timeout = '20ms'`.execute(transaction);
      await sql`update counters set count = count + 1 where name = ${first}`.execute(transaction);
      await meet();
      await sql`update counters set count = count + 1 where name = ${second}`.execute(transaction);
    }),
  );
  expect(runs).toBe(3);
});

it("a transaction runs at most four times, and is repeated only after a deadlock", async () => {
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
