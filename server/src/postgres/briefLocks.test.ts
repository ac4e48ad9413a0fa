import { expect } from "vitest";
import type pg from "pg";
import { databaseTest, file } from "../../test/support/fixtures.ts";
import { until } from "../../test/support/until.ts";
import { withBriefLocks } from "./briefLocks.ts";

/** Four connections: one holds a lock, one waits for it, one looks for the holder, one acts as a request. */
const it = databaseTest({ poolSize: 4 })
  .extend("client", async ({ pool }, { onCleanup }) => {
    const client = await pool.connect();
    onCleanup(() => client.release(true));
    return client;
  })
  .extend("holder", async ({ pool }, { onCleanup }) => {
    const holder = await pool.connect();
    onCleanup(() => holder.release(true));
    await holder.query("begin");
    return holder;
  })
  .extend("told", ({}): string[] => [])
  .extend("columns", file, ({ pool }) => async (): Promise<string[]> => {
    const { rows } = await pool.query<{ name: string }>(
      `select attname as name
       from pg_attribute
       where attrelid = 'settlements'::regclass
         and attname ~ '^later'`,
    );
    return rows.map(({ name }) => name);
  });

function addColumn(client: pg.ClientBase, name: string): () => Promise<unknown> {
  return () => client.query(`alter table settlements add column ${name} integer`);
}

it("a schema change waits for an open transaction, names its session, and is made when the transaction has ended", async ({
  pool,
  client,
  holder,
  told,
  columns,
}) => {
  await holder.query("set local application_name = 'a backup'; select from settlements");
  const change = withBriefLocks(
    { client, pool, onWait: (what) => told.push(what) },
    addColumn(client, "later_1"),
  );
  // If an expectation fails, the change fails when its connection is closed, and that error is ignored.
  change.catch(() => undefined);
  // On a busy machine the search for the holder may run between two tries of the change; the next search then names the holder.
  expect(await until(() => told.find((what) => what.includes(" on ")))).toMatch(
    /^waiting for a lock on settlements, which a transaction of PostgreSQL's process \d+ \(a backup, for \d+ s\) holds$/,
  );
  // This query does not queue behind the change.
  await pool.query("select from settlements limit 1");
  expect(await columns()).toEqual([]);
  await holder.query("commit");
  await change;
  expect(await columns()).toEqual(["later_1"]);
});

it("a schema change waits for a VACUUM or ANALYZE with a lock that blocks no reader and no writer", async ({
  pool,
  client,
  holder,
  columns,
}) => {
  await holder.query("lock table settlements in share update exclusive mode");
  const change = withBriefLocks({ client, pool }, addColumn(client, "later_2"));
  change.catch(() => undefined);
  await until(async () => {
    const { rows } = await pool.query<{ waits: boolean }>(
      `select exists (
         select
         from pg_locks
         where relation = 'settlements'::regclass
           and mode = 'ShareUpdateExclusiveLock'
           and not granted
       ) as waits`,
    );
    return rows[0]!.waits;
  });
  await pool.query("delete from settlements");
  await holder.query("commit");
  await change;
  expect(await columns()).toContain("later_2");
});

it("a chore gives up when it gets no lock, and its changes are rolled back", async ({
  pool,
  client,
  holder,
  columns,
}) => {
  await holder.query("select from settlements");
  const change = withBriefLocks({ client, pool, limitMs: 0 }, async () => {
    await client.query("create table later_table (id integer)");
    await addColumn(client, "later_3")();
  });
  await expect(change).rejects.toMatchObject({ code: "55P03" });
  expect(await columns()).not.toContain("later_3");
  const { rows } = await client.query("select to_regclass('later_table') as left");
  expect(rows).toEqual([{ left: null }]);
});
