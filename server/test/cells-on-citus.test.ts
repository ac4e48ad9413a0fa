import { expect } from "vitest";
import { withSnapshot } from "../src/backup/takeSnapshot.ts";
import { ensurePartitions } from "../src/postgres/partitions.ts";
import { closeCells, openCells } from "../src/postgres/cells.ts";
import { createPool } from "../src/postgres/pool.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { citusUrl } from "./support/citus.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { startedNodeTest } from "./support/fixtures.ts";
import { createMailbox } from "./support/mailbox.ts";
import { cellCount, switches } from "./support/plain.ts";
import { someKey } from "./support/program.ts";
import { signUp } from "./support/testNode.ts";

/*
 * All operations on an item, with two cells on two Citus workers, through the coordinator. The project `citus` of
 * vitest.config.ts tests the promises one by one.
 */

const it = startedNodeTest();

const reason = "TEST_CITUS_URL names no coordinator of Citus";

it("each cell is on its own worker, and gets partitions for new days", async ({ database, pool, skip }) => {
  skip(citusUrl === undefined, reason);
  const { rows } = await pool.query<{ nodes: number; tables: number }>(
    `select count(distinct nodeport)::integer as nodes, count(*)::integer as tables
     from citus_shards
     where table_name::text like '%.events'`,
  );
  expect(rows).toEqual([{ nodes: cellCount, tables: cellCount }]);
  const options = { connection: database.connection, size: 1, onError: () => undefined };
  const home = createPool(options);
  const cells = openCells(home, cellCount, options);
  try {
    for (const cell of cells.all())
      expect(await ensurePartitions(cell.pool, Date.now() + 3 * 86_400_000)).toBeGreaterThan(0);
    // A later start finds the cells unchanged.
    expect(await migrate(home, { cells: cellCount })).toEqual([]);
  } finally {
    await closeCells(cells, home);
    await home.end();
  }
});

it("each cell is shown with its server, size and load", async ({ node, database, pool, skip }) => {
  skip(citusUrl === undefined, reason);
  const box = await createMailbox(node, {}, await signUp(node));
  const over = new AbortController();
  const sending = (async () => {
    while (!over.signal.aborted) await box.send({ text: "x".repeat(1_000) });
  })();
  const env = { ...switches, DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey };
  const { code, out, err } = await runDatabaseCommand(["db", "cells"], env).finally(() => over.abort());
  await sending;
  expect(code, err).toBe(0);
  const { cells } = JSON.parse(out) as {
    cells: { server: string; bytes: number; rows_per_second: number }[];
  };
  const { rows } = await pool.query<{ server: string }>(
    "select nodename || ':' || nodeport as server from pg_dist_node where groupid <> 0 order by server",
  );
  expect(cells.map(({ server }) => server).toSorted()).toEqual(rows.map(({ server }) => server));
  // The empty tables of a cell on the coordinator take two thirds of that size.
  for (const { bytes } of cells) expect(bytes).toBeGreaterThan(500_000);
  const load = cells.map((cell) => cell.rows_per_second).toSorted((one, other) => one - other);
  // The cell that receives writes has the higher load, however few items a busy machine sends.
  expect(load[0]).toBeLessThan(5);
  expect(load[1]).toBeGreaterThan(5);
});

it("a backup is refused, because its snapshot covers one server", async ({ database, skip }) => {
  skip(citusUrl === undefined, reason);
  const { connection } = database;
  const source = { connection, encryptionKey: Buffer.alloc(32), version: "1.0.0", nowMs: Date.now() };
  await expect(withSnapshot(source, () => Promise.resolve("backed up"))).rejects.toThrow(
    /on several servers/,
  );
});

it("an item is retried, delivered, counted, replayed and erased", async ({
  node,
  organization,
  receiver,
  skip,
}) => {
  skip(citusUrl === undefined, reason);
  const { call, send, settled, newTarget } = organization;
  const target = await newTarget({ retry_interval_seconds: 1 });
  receiver.answer = (_received, response) => {
    response.statusCode = 500;
    response.end();
  };
  const id = await send(target.id);
  await settled(id, "RETRYING");
  receiver.answer = (_received, response) => void response.end();
  const { event } = await settled(id, "DELIVERED");
  expect(event).toMatchObject({ id });
  const replayed = await call("POST", `/api/v1/events/${id}/replay`);
  expect(replayed.status).toBe(202);
  const listed = await call("GET", `/api/v1/events?target_id=${target.id}`);
  expect(listed.body.events).toHaveLength(2);
  const counted = await call("GET", "/api/v1/stats");
  expect(counted).toMatchObject({ status: 200, body: { totals: { accepted: 2 } } });
  expect(counted.body.totals.retried).toBeGreaterThan(0);
  const { session_token: session } = organization.account;
  const erasure = await node.call("POST", `/api/v1/events/${id}/erase`, { session });
  expect(erasure.body).toMatchObject({ status: "DONE", erased: 2 });
  expect((await call("GET", "/api/v1/usage")).body.usage.accepted_events).toBeGreaterThan(0);
});

it("a disabled target holds its items until it is enabled", async ({ organization, skip }) => {
  skip(citusUrl === undefined, reason);
  const { call, send, settled, statusOf, newTarget } = organization;
  const target = await newTarget();
  const change = (body: object) => call("PATCH", `/api/v1/targets/${target.id}`, body);
  expect((await change({ enabled: false })).status).toBe(200);
  const held = await send(target.id);
  const canceled = await send(target.id);
  expect(await statusOf(held)).toBe("QUEUED");
  expect((await call("POST", `/api/v1/events/${canceled}/cancel`)).status).toBe(200);
  expect((await change({ enabled: true })).status).toBe(200);
  await settled(held, "DELIVERED");
  expect(await statusOf(canceled)).toBe("CANCELED");
});

it("messages are claimed in order, extended, released, acknowledged, rejected and redriven", async ({
  node,
  account,
  skip,
}) => {
  skip(citusUrl === undefined, reason);
  const box = await createMailbox(node, {}, account);
  const sent = [await box.send(1), await box.send(2), await box.send(3)];
  const claim = async (): Promise<{ id: string; claim_token: string }[]> =>
    (await box.post("claim", { max: 3, lease_seconds: 60 })).body.messages;
  const [first, second, third] = await claim();
  expect([first!.id, second!.id, third!.id]).toEqual(sent);
  const done = async (verb: string, message: unknown, more = {}): Promise<boolean> =>
    (await box.post(verb, { messages: [message], ...more })).body.results[0].ok;
  expect(await done("extend", first, { lease_seconds: 90 })).toBe(true);
  expect(await done("ack", first)).toBe(true);
  expect(await done("release", second)).toBe(true);
  expect(await done("reject", third, { reason: "broken" })).toBe(true);
  expect((await box.post("redrive", {})).body).toEqual({ redriven: 1 });
  expect((await claim()).map(({ id }) => id)).toEqual(sent.slice(1));
});
