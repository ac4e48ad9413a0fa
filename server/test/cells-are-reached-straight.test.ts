import pg from "pg";
import { expect } from "vitest";
import { cellSchemas } from "../src/postgres/cells.ts";
import { bucketOf } from "../src/postgres/ids.ts";
import type { Placement } from "../src/postgres/cellServers.ts";
import { atServer } from "../src/postgres/pool.ts";
import { disableTarget, noteFailure } from "../src/targets/record/noteHealth.ts";
import { citusUrl } from "./support/citus.ts";
import { urlOf } from "./support/database.ts";
import { file, loopbackTargets, startedNodeTest } from "./support/fixtures.ts";
import { createMailbox } from "./support/mailbox.ts";
import { cellCount } from "./support/plain.ts";
import { type Account, createTestNode, signUp, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { organizationOf } from "./support/organization.ts";

/*
 * Calls of the hot path go directly to the Citus worker that holds the cell, and follow it when it moves. Other
 * tests in the project `citus` of vitest.config.ts check the promises one by one on such pools.
 */

const it = startedNodeTest()
  .extend("coordinator", file, ({ database }, { onCleanup }) => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    onCleanup(() => pool.end());
    return pool;
  })
  /** Returns the server on which Citus has placed an account's cell. */
  .extend("serverOf", file, ({ coordinator }) => async (account: Account): Promise<Server> => {
    const { rows } = await coordinator.query<Server>(
      `select distinct nodename as host, nodeport as port
       from citus_shards
       where table_name::text = $1`,
      [`${schemaOf(account)}.events`],
    );
    return rows[0]!;
  });

type Server = Pick<Placement, "host" | "port">;

const reason = "TEST_CITUS_URL names no coordinator of Citus";

function cellOf({ user }: Account): number {
  return Math.floor((bucketOf(user.org_id) * cellCount) / 256);
}

function schemaOf(account: Account): string {
  return cellSchemas(cellCount)[cellOf(account)]!;
}

/** Returns how the node reaches the cell of an account, from its metrics. */
async function wayTo(node: Pick<TestNode, "call">, account: Account): Promise<string | undefined> {
  const { body } = await node.call("GET", "/metrics");
  const lines = String(body).split("\n");
  const line = lines.find(
    (one) => one.startsWith("postrider_cell_server{") && one.includes(`cell="${cellOf(account)}"`),
  );
  const labels = Object.fromEntries(
    [...(line ?? "").matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  return line && `${labels["way"]} ${labels["server"]}`;
}

it("the node connects directly to the server of the cell", async ({
  database,
  node,
  account,
  organization,
  serverOf,
  skip,
}) => {
  skip(citusUrl === undefined, reason);
  const server = await serverOf(account);
  const { id } = await organization.newTarget();
  await organization.settled(await organization.send(id), "DELIVERED");
  expect(await wayTo(node, account)).toBe(`direct ${server.host}:${server.port}`);
  const client = new pg.Client({ connectionString: urlOf(atServer(database.connection, server)) });
  await client.connect();
  const { rows } = await client.query<{ calls: number }>(
    `select count(*)::integer as calls
     from pg_stat_activity
     where application_name = 'postrider'
       and datname = current_database()
       and query ~ 'from [a-z_]+[(]p_'`,
  );
  await client.end();
  expect(rows[0]!.calls).toBeGreaterThan(0);
});

it("a target's health is equal on every server, although it changed while another change waited for a lock", async ({
  node,
  organization,
  coordinator,
  skip,
  onTestFinished,
}) => {
  skip(citusUrl === undefined, reason);
  const { id } = await organization.newTarget();
  const { url } = (await organization.call("GET", `/api/v1/targets/${id}`)).body;
  const note = { targetId: id, url, eventId: id, nowSeconds: Math.floor(Date.now() / 1000) };
  await noteFailure(node.pool, note);
  const client = await coordinator.connect();
  onTestFinished(() => client.release(true));
  await client.query("begin");
  await client.query("update targets set failing_since = null, version = version + 1 where id = $1", [id]);
  // Both changes begin while the target's health is failing.
  const noting = Promise.all([
    noteFailure(node.pool, note),
    disableTarget(node.pool, note, "the receiver answered 410 Gone"),
  ]);
  // Citus takes the lock of a reference table on its first worker.
  await until(async () => {
    const { rows } = await coordinator.query<{ waiting: number }>(
      `select sum(result::integer)::integer as waiting
       from run_command_on_all_nodes(
         $$select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'$$
       )`,
    );
    return rows[0]!.waiting >= 2;
  });
  await client.query("commit");
  await noting;
  const { rows: copies } = await coordinator.query<{ result: string }>(
    "select result from run_command_on_all_nodes(format('select to_jsonb(t) from %s t where id = %L', $1::regclass, $2::uuid))",
    ["targets", id],
  );
  expect(new Set(copies.map(({ result }) => result)).size).toBe(1);
  expect(JSON.parse(copies[0]!.result)).toMatchObject({ enabled: false });
});

/** Logical replication of some two hundred tables is slow on a busy machine. */
const moveLimitMs = 1_200_000;

it(
  "a cell's items and messages are not lost when it moves while items are accepted and messages claimed",
  { timeout: moveLimitMs },
  async ({ node, account, organization, coordinator, serverOf, skip }) => {
    skip(citusUrl === undefined, reason);
    const from = await serverOf(account);
    const { rows: nodes } = await coordinator.query<Server>(
      `select nodename as host, nodeport as port
     from pg_dist_node
     where shouldhaveshards
       and nodeport <> $1`,
      [from.port],
    );
    const to = nodes[0]!;
    const { id } = await organization.newTarget();
    const box = await createMailbox(node, {}, account);
    const items: string[] = [];
    const messages: string[] = [];
    const acknowledged: string[] = [];
    const move = { isOver: false };
    const senders = [1, 2, 3].map(async (number) => {
      while (!move.isOver) items.push(await organization.send(id, { number }));
    });
    const producer = async (): Promise<void> => {
      while (!move.isOver)
        messages.push(await box.send({ count: messages.length }, { "x-ordering-key": "one" }));
    };
    const consume = async (): Promise<void> => {
      while (!move.isOver || acknowledged.length < messages.length) {
        const claimed: { id: string; claim_token: string }[] = (await box.post("claim", { max: 5 })).body
          .messages;
        for (const { id: message, claim_token } of claimed) {
          const { body } = await box.post("ack", { messages: [{ id: message, claim_token }] });
          expect(body.results).toMatchObject([{ ok: true }]);
          acknowledged.push(message);
        }
      }
    };
    const consumer = consume();
    const moving = coordinator
      .query("select citus_schema_move($1::regnamespace, $2, $3, 'force_logical')", [
        schemaOf(account),
        to.host,
        to.port,
      ])
      .then(() =>
        until(
          () => wayTo(node, account),
          (way) => way === `direct ${to.host}:${to.port}`,
          moveLimitMs,
        ),
      )
      .finally(() => (move.isOver = true));
    await Promise.all([moving, producer(), ...senders]);
    // Sent to the cell's new server.
    items.push(await organization.send(id));
    await consumer;
    for (const item of items) await organization.settled(item, "DELIVERED");
    expect(items.length).toBeGreaterThan(10);
    expect(acknowledged.toSorted()).toEqual(messages.toSorted());
    expect(messages.length).toBeGreaterThan(3);
  },
);

it("without the coordinator, items are accepted and delivered and messages claimed, and other requests get an error", async ({
  database,
  proxy,
  receiver,
  skip,
  onTestFinished,
}) => {
  skip(citusUrl === undefined, reason);
  const behind = { ...database, connection: { url: proxy.url } };
  const node = createTestNode(behind, loopbackTargets);
  onTestFinished(() => node.stop());
  node.service.start();
  const account = await signUp(node);
  const { newTarget, send, settled, call } = organizationOf(node, account, receiver);
  const { id, path } = await newTarget();
  const box = await createMailbox(node, {}, account);
  const { id: otherId, path: otherPath } = await newTarget();
  await send(id);
  await receiver.arrivals(1, { path });
  expect(await wayTo(node, account)).toMatch(/^direct /);

  proxy.accepts = false;
  proxy.sever();
  const sent = [await send(id), await send(otherId), await send(id)];
  const message = await box.send({ hello: 1 });
  await receiver.arrivals(3, { path });
  await receiver.arrivals(1, { path: otherPath });
  const [claimed] = (await box.post("claim", { max: 1 })).body.messages;
  expect(claimed.id).toBe(message);
  const { body } = await box.post("ack", { messages: [{ id: message, claim_token: claimed.claim_token }] });
  expect(body.results).toMatchObject([{ ok: true }]);
  expect((await call("GET", "/api/v1/targets")).status).toBe(503);
  const ready = await node.call("GET", "/readyz");
  expect(ready).toMatchObject({ status: 200, body: { status: "ready" } });
  // The cluster's servers may have fsync off, which is a warning of its own.
  const isOther = (warning: string): boolean => !warning.includes("fsync off");
  expect(ready.body.warnings.filter(isOther)).toEqual([
    expect.stringContaining("the coordinator is not available, so that only items"),
  ]);

  proxy.accepts = true;
  await until(async () => (await call("GET", "/api/v1/targets")).status === 200);
  for (const item of sent) await settled(item, "DELIVERED");
  const { status, warnings = [] } = (await node.call("GET", "/readyz")).body;
  expect({ status, warnings: warnings.filter(isOther) }).toEqual({ status: "ready", warnings: [] });
});

it("a key that the process has not used before is found without the coordinator", async ({
  database,
  proxy,
  account,
  organization,
  skip,
  onTestFinished,
}) => {
  skip(citusUrl === undefined, reason);
  const { id } = await organization.newTarget();
  const node = createTestNode({ ...database, connection: { url: proxy.url } });
  onTestFinished(async () => {
    proxy.accepts = true;
    await node.stop();
  });
  await until(
    () => wayTo(node, account),
    (way) => way?.startsWith("direct ") === true,
  );
  proxy.accepts = false;
  proxy.sever();
  const { api_key: key } = account;
  expect(await node.call("POST", `/t/${id}`, { key, body: { hello: 1 } })).toMatchObject({ status: 202 });
  const unknown = await node.call("POST", `/t/${id}`, { key: `${key}x`, body: { hello: 1 } });
  expect(unknown.status).toBe(401);
});
