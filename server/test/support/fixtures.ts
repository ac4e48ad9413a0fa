import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { test } from "vitest";
import { createPool } from "../../src/postgres/pool.ts";
import type { AgentOptions } from "./agent/agentOptions.ts";
import { type Agent, startAgent } from "./agent/startAgent.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { isPlain } from "./plain.ts";
import { startReceiver } from "./receiver.ts";
import { type ServiceProcess, startService } from "./serviceProcess.ts";
import { startStandIn } from "./stripeStandIn/client.ts";
import { createTestNode, signUp, type TestNode } from "./testNode.ts";

/*
 * What tests need, by name: `const it = nodeTest(); it("…", async ({ node, account }) => …)`. A part is made when a test
 * first names it, and ended by itself, in reverse order: when the file is done, or the test where that is said. Each
 * extension of `it` makes parts of its own, so a file has one, and its hooks are that one's: `it.beforeAll(…)`.
 */

/** Made once a file. */
export const file = { scope: "file" } as const;

/** Connections to a test's database; `size` at most. */
export function testPool({ connection }: TestDatabase, size: number): pg.Pool {
  return createPool({ connection, size, isPlain, onError: () => undefined });
}

/**
 * A `database` of the file's own, a `pool` of `poolSize` connections to it, and what the service talks to: a `receiver` that
 * answers 200, an `agent` and the payment processor's `standIn`.
 */
export function databaseTest({ poolSize = 2 }: { poolSize?: number } = {}) {
  return test
    .extend("database", file, async ({}, { onCleanup }) => {
      const database = await createTestDatabase();
      onCleanup(() => database.drop());
      return database;
    })
    .extend("pool", file, ({ database }, { onCleanup }) => {
      const pool = testPool(database, poolSize);
      onCleanup(() => pool.end());
      return pool;
    })
    .extend("receiver", file, async ({}, { onCleanup }) => {
      const receiver = await startReceiver();
      onCleanup(() => receiver.stop());
      return receiver;
    })
    .extend("agent", file, async ({}, { onCleanup }) => {
      const agent = await startAgent();
      onCleanup(() => agent.kill());
      return agent;
    })
    .extend("standIn", file, async ({}, { onCleanup }) => {
      const standIn = await startStandIn();
      onCleanup(() => standIn.stop());
      return standIn;
    });
}

/** Settings of a node or a process under which it may deliver to loopback over plain HTTP. */
export const loopbackTargets = {
  POSTRIDER_ALLOW_HTTP_TARGETS: "true",
  POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
};

/** A `node` with these settings, another on the same database (`other`), and somebody who is signed up (`account`). */
export function nodeTest(settings: Record<string, string> = {}) {
  return nodesWith((database) => createTestNode(database, settings));
}

/** The same with nodes that dispatch and maintain, as their roles say, and may deliver to loopback. */
export function startedNodeTest(settings: Record<string, string> = {}) {
  return nodesWith((database) => {
    const node = createTestNode(database, { ...loopbackTargets, ...settings });
    node.service.start();
    return node;
  });
}

function nodesWith(create: (database: TestDatabase) => TestNode) {
  return databaseTest()
    .extend("node", file, ({ database }, { onCleanup }) => {
      const node = create(database);
      onCleanup(() => node.stop());
      return node;
    })
    .extend("other", file, ({ database }, { onCleanup }) => {
      const other = create(database);
      onCleanup(() => other.stop());
      return other;
    })
    .extend("account", file, ({ node }: { node: TestNode }) => signUp(node));
}

/** A `service` of its own process with these settings, another on the same database (`other`), and an `account`. */
export function serviceTest(env: Record<string, string> = {}) {
  return databaseTest()
    .extend("service", file, async ({ database }, { onCleanup }) => {
      const service = await startService({ storage: { databaseUrl: database.url }, env });
      onCleanup(() => killAll([service]));
      return service;
    })
    .extend("other", file, async ({ database }, { onCleanup }) => {
      const other = await startService({ storage: { databaseUrl: database.url }, env });
      onCleanup(() => killAll([other]));
      return other;
    })
    .extend("account", file, ({ service }: { service: ServiceProcess }) => signUp(service))
    .extend("newAgent", async ({}, { onCleanup }) => newAgents(onCleanup))
    .extend("folder", async ({}, { onCleanup }) => newFolder(onCleanup));
}

/** Each test has a `database`, a `pool`, a `receiver` and, by `start`, services of its own; they are killed at its end. */
export const stageTest = test
  .extend("database", async ({}, { onCleanup }) => {
    const database = await createTestDatabase();
    onCleanup(() => database.drop());
    return database;
  })
  .extend("pool", ({ database }, { onCleanup }) => {
    const pool = testPool(database, 2);
    onCleanup(() => pool.end());
    return pool;
  })
  .extend("receiver", async ({}, { onCleanup }) => {
    const receiver = await startReceiver();
    onCleanup(() => receiver.stop());
    return receiver;
  })
  .extend("start", ({ database }, { onCleanup }) => {
    const started: ServiceProcess[] = [];
    onCleanup(() => killAll(started));
    return async (env: Record<string, string> = {}, databaseUrl = database.url): Promise<ServiceProcess> => {
      const service = await startService({ storage: { databaseUrl }, env });
      started.push(service);
      return service;
    };
  })
  .extend("newAgent", async ({}, { onCleanup }) => newAgents(onCleanup))
  .extend("folder", async ({}, { onCleanup }) => newFolder(onCleanup));

type OnCleanup = (cleanUp: () => Promise<void>) => void;

async function killAll(services: readonly ServiceProcess[]): Promise<void> {
  for (const service of services) service.kill("SIGKILL");
  await Promise.all(services.map((service) => service.ended));
}

/** Starts agents of a test; they end with it. */
function newAgents(onCleanup: OnCleanup): (options?: AgentOptions) => Promise<Agent> {
  const agents: Agent[] = [];
  onCleanup(async () => {
    for (const agent of agents) {
      agent.thaw();
      await agent.kill();
    }
  });
  return async (options = {}) => {
    const agent = await startAgent(options);
    agents.push(agent);
    return agent;
  };
}

/** A folder that is removed with all that is in it. */
async function newFolder(onCleanup: OnCleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-test-folder-"));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
