import type pg from "pg";
import { expect, it } from "vitest";
import { createPool } from "../server/src/postgres/pool.ts";
import { expectNothingLost } from "../server/test/support/afterwards.ts";
import { createRandom, type Random } from "../server/test/support/billing/random.ts";
import { retryingTargets, unreliable } from "../server/test/support/crashes.ts";
import { createTestDatabase } from "../server/test/support/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../server/test/support/databaseProxy.ts";
import { until } from "../server/test/support/until.ts";
import { type Load, startLoad } from "../server/test/support/load.ts";
import { startReceiver } from "../server/test/support/receiver.ts";
import { type ServiceProcess, startService } from "../server/test/support/serviceProcess.ts";
import { signUp } from "../server/test/support/testNode.ts";
import { rounds, seeds } from "./seeds.ts";

/** One of several processes on one database, with a network of its own in between. */
interface Node {
  service: ServiceProcess;
  proxy: DatabaseProxy;
}

const nodeCount = 3;
const env = { POSTRIDER_DELIVERY_TIMEOUT_MS: "1000" };

function pauseMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

type Fault = (node: Node, random: Random, pool: pg.Pool) => Promise<void>;

/** Each begins and ends a fault on one node. Longer than a lease (11 s here) is longer than a node may be believed. */
const faults: Record<string, Fault> = {
  "kill the node": async (node) => {
    node.service.kill("SIGKILL");
    await node.service.ended;
    node.service = await startService({ storage: { databaseUrl: node.proxy.url }, env });
  },
  "stop the node in order": async (node) => {
    await node.service.stop();
    node.service = await startService({ storage: { databaseUrl: node.proxy.url }, env });
  },
  "freeze the node": async (node, random) => {
    node.service.kill("SIGSTOP");
    await pauseMs(random.integer(100, 16_000));
    node.service.kill("SIGCONT");
  },
  "cut it from the database": async (node, random) => {
    node.proxy.accepts = false;
    node.proxy.sever();
    await pauseMs(random.integer(100, 16_000));
    node.proxy.accepts = true;
  },
  "break its connections": async (node) => {
    node.proxy.sever();
  },
  "lose the answer to an acceptance": (node) => node.proxy.swallowAnswerOf("accept_items"),
  "lose the answer to a record": (node) => node.proxy.swallowAnswerOf("finish_deliveries"),
  "lose the answer to a claim": (node) => node.proxy.swallowAnswerOf("claim_deliveries"),
  "end all sessions": async (_node, _random, pool) => {
    await pool.query(
      `select pg_terminate_backend(pid)
       from pg_stat_activity
       where datname = current_database()
         and pid <> pg_backend_pid()`,
    );
  },
};

async function harm(nodes: Node[], load: Load, random: Random, pool: pg.Pool): Promise<string[]> {
  const done: string[] = [];
  const names = Object.keys(faults);
  for (let round = 0; round < rounds; round++) {
    const goal = load.acknowledged().length + random.integer(20, 500);
    await until(
      () => {
        return load.acknowledged().length >= goal;
      },
      Boolean,
      90_000,
    );
    const name = random.pick(names);
    done.push(name);
    const harmed = faults[name]!(random.pick(nodes), random, pool);
    // A fault that waits for a statement that never comes is over when the next begins.
    await Promise.race([harmed, pauseMs(20_000)]);
  }
  return done;
}

it.each(seeds)("nothing is lost between several nodes when the network fails, seed %i", async (seed) => {
  const random = createRandom(seed);
  const database = await createTestDatabase();
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  const receiver = await startReceiver(unreliable(createRandom(seed + 1_000_000)));
  const nodes = await Promise.all(
    Array.from({ length: nodeCount }, async (): Promise<Node> => {
      const proxy = await startDatabaseProxy(database);
      return { proxy, service: await startService({ storage: { databaseUrl: proxy.url }, env }) };
    }),
  );
  const account = await signUp(nodes[0]!.service);
  const load = startLoad({
    service: () => random.pick(nodes).service,
    account,
    targetIds: await retryingTargets(nodes[0]!.service, account, receiver),
    senders: 16,
  });
  const done = await harm(nodes, load, random, pool);
  console.log(`seed ${seed}: ${done.join(", ")}; ${load.acknowledged().length} items`);
  await load.stop();
  await expectNothingLost({ pool, load, receiver });
  for (const { service } of nodes) expect(await service.stop()).toBe(0);
  await Promise.all(nodes.map(({ proxy }) => proxy.stop()));
  await receiver.stop();
  await pool.end();
  await database.drop();
});
