import { expect } from "vitest";
import type pg from "pg";
import { emptyDatabaseTest as test } from "../../test/support/fixtures.ts";
import { functionSchema } from "./functionSchema.ts";
import { newId } from "./ids.ts";
import { installFunctions } from "./installFunctions.ts";
import { migrate } from "./migrate.ts";
import { continuePositions } from "./placement/distribute.ts";

async function inHomeSession<T>(pool: pg.Pool, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("reset search_path");
    return await work(client);
  } finally {
    client.release(true);
  }
}

test("functions take positions from the sequence, and on several servers from the clock", async ({
  pool,
}) => {
  await migrate(pool);
  const byClock = async (): Promise<unknown> =>
    (await pool.query("select positions_by_clock() as it")).rows[0];
  expect(await byClock()).toEqual({ it: false });
  for (const isDistributed of [true, false]) {
    await inHomeSession(pool, async (client) => {
      await client.query(`drop schema ${functionSchema} cascade`);
      await installFunctions(client, isDistributed);
    });
    expect(await byClock()).toEqual({ it: isDistributed });
  }
});

test("the sequence continues after the last position of waiting and closed messages in all cells, and never goes back", async ({
  pool,
}) => {
  await migrate(pool, { cells: 2 });
  const next = async (): Promise<number> => {
    await inHomeSession(pool, continuePositions);
    const { rows } = await pool.query<{ position: number }>(
      "select nextval('message_positions') as position",
    );
    return rows[0]!.position;
  };
  expect(await next()).toBe(1);
  const waiting = newId(1, Date.now());
  await pool.query(
    "insert into postrider_cell_00.messages (bucket, mailbox_id, id, position) values (1, $1, $1, 5000)",
    [waiting],
  );
  expect(await next()).toBe(5_001);
  const dead = newId(129, Date.now());
  await pool.query(
    `insert into postrider_cell_80.closed_messages (
       bucket, dead, claim_count, mailbox_id, id, position, closed_at, reason
     )
     values (129, true, 1, $1, $1, 7000, 0, 'broken')`,
    [dead],
  );
  expect([await next(), await next()]).toEqual([7_001, 7_002]);
});
