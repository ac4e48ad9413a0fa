import { expect } from "vitest";
import type pg from "pg";
import { emptyDatabaseTest as it } from "../../test/support/fixtures.ts";
import { storeOrganization, storeTarget } from "../../test/support/storedItems.ts";
import { migrate } from "./migrate.ts";
import { dropOldPartitions } from "../maintenance/dropOldPartitions.ts";
import { dayMs, ensurePartitions, tablesById } from "./partitions.ts";
import { closeCells, openCells, cellSchemas } from "./cells.ts";
import { tablesOfCells } from "./tablePlaces.ts";

async function tablesIn(pool: pg.Pool, schema: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name
     from pg_class
     where relnamespace = $1::regnamespace
       and relkind in ('r', 'p')
       and not relispartition`,
    [schema],
  );
  return rows.map(({ name }) => name).toSorted();
}

it("each cell has exactly the tables of the data plane, with their daily partitions", async ({ pool }) => {
  await migrate(pool, { cells: 2 });
  for (const schema of cellSchemas(2)) {
    expect(await tablesIn(pool, schema)).toEqual(tablesOfCells.toSorted());
    const { rows } = await pool.query<{ parents: number }>(
      `select count(distinct i.inhparent)::integer as parents
       from pg_inherits i
       join pg_class c on c.oid = i.inhparent
       where c.relnamespace = $1::regnamespace
         and c.relkind = 'p'`,
      [schema],
    );
    expect(rows[0]!.parents).toBe(tablesById.length + 1);
  }
  expect(await migrate(pool, { cells: 2 })).toEqual([]);
});

it("retention drops the daily partitions of one cell, and those of no other cell", async ({
  pool,
  database,
}) => {
  await migrate(pool, { cells: 2 });
  const cells = openCells(pool, 2, { connection: database.connection, size: 2, onError: () => undefined });
  const days = async (schema: string | undefined): Promise<number> => {
    const { rows } = await pool.query<{ days: number }>(
      "select count(*)::integer as days from pg_inherits where inhparent = $1::regclass",
      [`${schema}.events`],
    );
    return rows[0]!.days;
  };
  const [first, second] = cells.all();
  const laterMs = Date.now() + 40 * dayMs;
  try {
    expect(await ensurePartitions(first!.pool, laterMs)).toBeGreaterThan(0);
    expect([await days(first!.schema), await days(second!.schema)]).toEqual([18, 9]);
    await dropOldPartitions(first!.pool, { retentionDays: 20, nowMs: laterMs, isConfirmed: true });
    expect([await days(first!.schema), await days(second!.schema)]).toEqual([9, 9]);
  } finally {
    await closeCells(cells, pool);
  }
});

it("objects that a later version adds are added to the cells, and any other difference makes the start fail", async ({
  pool,
}) => {
  await migrate(pool, { cells: 2 });
  const [first, second] = cellSchemas(2);
  // As if an earlier version had left the cells.
  await pool.query(`
    alter table ${first}.deliveries drop column attempts cascade;
    drop index ${second}.messages_ready;
    drop table ${second}.erased_digests;
    alter table ${second}.replay_parts drop constraint replay_parts_replay_id_fkey`);
  await expect(migrate(pool, { cells: 2 })).resolves.toEqual([]);
  await pool.query(`alter table ${second}.deliveries alter column attempts drop not null`);
  await expect(migrate(pool, { cells: 2 })).rejects.toThrow(
    `${second}.deliveries is not like public.deliveries`,
  );
});

it("the number of cells is set at the first start, and cannot change once the database has targets", async ({
  pool,
}) => {
  await migrate(pool);
  const orgId = await storeOrganization(pool);
  await migrate(pool, { cells: 2 });
  await expect(migrate(pool)).rejects.toThrow("the database has 2 cells and POSTRIDER_CELLS says 1");
  await expect(migrate(pool, { cells: 4 })).rejects.toThrow(
    "the database has 2 cells and POSTRIDER_CELLS says 4",
  );
  await pool.query(
    cellSchemas(2)
      .map((schema) => `drop schema ${schema} cascade`)
      .join(";"),
  );
  await storeTarget(pool, orgId);
  await expect(migrate(pool, { cells: 2 })).rejects.toThrow("postrider db divide --cells 2 divides it");
});
