import type pg from "pg";
import { expect } from "vitest";
import { cellSchemas } from "../src/postgres/cells.ts";
import { bucketOf } from "../src/postgres/ids.ts";
import type { Server } from "../src/postgres/cellServers.ts";
import { placedCells } from "../src/postgres/placement/workers.ts";
import { createPool } from "../src/postgres/pool.ts";
import { citusUrl, moveSchema } from "./support/citus.ts";
import { ClaimingNode, positionsOf, putMessages, storeMailboxes } from "./support/directMessages.ts";
import { databaseTest } from "./support/fixtures.ts";
import { cellCount } from "./support/plain.ts";

/*
 * Messages of one mailbox, stored and claimed through the coordinator and directly on workers, before and after
 * their cell moves.
 */

const it = databaseTest()
  .extend("open", ({ database }, { onCleanup }) => {
    const pools: pg.Pool[] = [];
    onCleanup(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
    });
    /** Opens sessions of a cell, through the coordinator unless a server is named. */
    return (schema: string, server?: Server): pg.Pool => {
      const url = new URL(database.url);
      if (server !== undefined) [url.hostname, url.port] = [server.host, String(server.port)];
      const pool = createPool({
        connection: { url: url.href },
        size: 2,
        schema,
        onError: () => undefined,
      });
      pools.push(pool);
      return pool;
    };
  })
  .extend("box", async ({ pool, open, skip }) => {
    skip(citusUrl === undefined, "TEST_CITUS_URL names no coordinator of Citus");
    const id = await (await storeMailboxes(pool))();
    const schema = cellSchemas(cellCount)[Math.floor((bucketOf(id) * cellCount) / 256)]!;
    const cells = await placedCells(pool);
    const home = cells.find((cell) => cell.schema === schema)!;
    const away = cells.find((cell) => cell.schema !== schema)!;
    return {
      id,
      schema,
      away,
      coordinator: open(schema),
      direct: open(schema, home),
      other: open(schema, away),
    };
  });

it("messages keep the order of acceptance through every server, and through a move", async ({
  database,
  pool,
  box,
}) => {
  const { id: mailbox, schema, away, coordinator, direct, other } = box;
  const ways = [coordinator, direct, other];
  const node = new ClaimingNode();
  const sent: string[] = [];
  const sendInTurn = async (): Promise<void> => {
    for (const way of [...ways, ...ways.toReversed()])
      sent.push(...(await putMessages(way, [{ mailbox }, { mailbox }])));
  };
  await sendInTurn();
  for (const way of ways) {
    expect(await node.claim(way, mailbox, 2)).toEqual(sent.splice(0, 2));
    node.nowMs += 2_500;
  }
  await moveSchema(database.url, schema, away);
  expect((await placedCells(pool)).find((cell) => cell.schema === schema)).toMatchObject({ port: away.port });
  await sendInTurn();
  const positions = await positionsOf(coordinator, sent);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(new Set(positions).size).toBe(sent.length);
  expect(Math.abs(positions.at(-1)! / 1_000 - Date.now())).toBeLessThan(60_000);
  while (sent.length > 0)
    for (const way of ways) {
      expect(await node.claim(way, mailbox, 1)).toEqual(sent.splice(0, 1));
      node.nowMs += 500;
    }
});

it("messages come after messages from a server whose clock is ahead, and after claimed ones of their key", async ({
  box,
}) => {
  const { id: mailbox, schema, coordinator, direct } = box;
  const futureMs = Date.now() + 3_600_000;
  const moveAhead = (id: string, n: number): Promise<unknown> =>
    coordinator.query(`update ${schema}.messages set position = $2 where id = $1`, [
      id,
      futureMs * 1_000 + n,
    ]);
  const node = new ClaimingNode();
  const [keyed] = await putMessages(direct, [{ mailbox, key: "k" }]);
  await moveAhead(keyed!, 1);
  expect(await node.claim(direct, mailbox, 1)).toEqual([keyed]);
  const [free] = await putMessages(coordinator, [{ mailbox }]);
  await moveAhead(free!, 2);
  const later = [
    ...(await putMessages(coordinator, [{ mailbox, key: "k" }, { mailbox }])),
    ...(await putMessages(direct, [{ mailbox, key: "k" }, { mailbox }])),
  ];
  const positions = await positionsOf(direct, [keyed!, free!, ...later]);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(await node.claim(coordinator, mailbox, 5)).toEqual([free, later[1], later[3]]);
});
