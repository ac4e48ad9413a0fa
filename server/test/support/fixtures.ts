import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { test } from "vitest";
import { createPool } from "../../src/postgres/pool.ts";
import type { AgentOptions } from "./agent/agentOptions.ts";
import { type Agent, startAgent } from "./agent/startAgent.ts";
import { startCardServer } from "./cardServer.ts";
import { createEmptyTestDatabase, createTestDatabase, shownSchema, type TestDatabase } from "./database.ts";
import { startDatabaseProxy } from "./databaseProxy.ts";
import { createWebhookTarget } from "./items.ts";
import { isPlain } from "./plain.ts";
import { startReceiver } from "./receiver.ts";
import { type ServiceProcess, startService } from "./serviceProcess.ts";
import {
  type SharedNode,
  sharedNode,
  type SharedService,
  sharedService,
  sharedStartedNode,
} from "./sharedServices.ts";
import { startStandIn } from "./stripeStandIn/client.ts";
import { createTestNode, signUp, type TestNode } from "./testNode.ts";
import { organizationOf } from "./organization.ts";

/*
 * Fixtures by name: `const it = nodeTest(); it("…", async ({ node, account }) => …)`. A fixture is created when a
 * test first names it, and ended in reverse order: at the end of the file, or of the test when its comment says
 * so. Each extension of `it` creates its own fixtures, so a file has one extension, and uses its hooks:
 * `it.beforeAll(…)`.
 */

/** Created once per file. */
export const file = { scope: "file" } as const;

/** Connections to a test's database, at most `size`. */
export function testPool({ connection }: TestDatabase, size: number): pg.Pool {
  return createPool({ connection, size, isPlain, schema: shownSchema, onError: () => undefined });
}

/**
 * A `database` for the file, a `pool` of `poolSize` connections to it, a `proxy` in front of it, and the service's
 * peers: a `receiver` that answers 200, an `agent`, the payment processor's `standIn`, and for each test a server
 * of `cards`.
 * @param shared for a database that other files use as well; see `sharedServices.ts`.
 */
export function databaseTest({ poolSize = 2, shared }: DatabaseOptions = {}) {
  return test
    .extend("database", file, async ({}, { onCleanup }) =>
      shared === undefined ? dropping(onCleanup, createTestDatabase()) : (await shared()).database,
    )
    .extend("pool", file, ({ database }, { onCleanup }) => newPool(onCleanup, database, poolSize))
    .extend("proxy", file, ({ database }, { onCleanup }) => stopping(onCleanup, startDatabaseProxy(database)))
    .extend("receiver", file, ({}, { onCleanup }) => stopping(onCleanup, startReceiver()))
    .extend("cards", ({}, { onCleanup }) => stopping(onCleanup, startCardServer()))
    .extend("agent", file, async ({}, { onCleanup }) => {
      const agent = await startAgent();
      onCleanup(() => agent.kill());
      return agent;
    })
    .extend("standIn", file, ({}, { onCleanup }) => stopping(onCleanup, startStandIn()));
}

/** Settings that allow deliveries to loopback over plain HTTP. */
export const loopbackTargets = {
  POSTRIDER_ALLOW_HTTP_TARGETS: "true",
  POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
};

/**
 * A `node` with these settings and its `url`, more nodes on the same database (`other`, or `newNode` with further
 * settings), and a signed-up `account` with its `organization`, whose most used functions are fixtures as well. Each
 * test has an organization of its `own`, too. Settings that depend on another fixture go into `settings`.
 */
export function nodeTest(settings: Settings = {}) {
  return nodesWith(restingNode(settings));
}

/** Fixtures of `nodeTest` with nodes that dispatch and maintain, as their roles say, and may deliver to loopback. */
export function startedNodeTest(settings: Settings = {}) {
  return nodesWith(startedNode(settings));
}

/**
 * Fixtures of `nodeTest` with a `node` and a database that other files use as well, before and after: for tests
 * that read only their own organizations, and stop only their own nodes.
 */
export function sharedNodeTest(settings: Settings = {}) {
  return nodesWith(restingNode(settings), () => sharedNode(settings));
}

/**
 * Fixtures of `sharedNodeTest` with a node that dispatches and maintains. Items that a file leaves waiting are
 * removed before the next file.
 */
export function sharedStartedNodeTest() {
  return nodesWith(startedNode({}), sharedStartedNode);
}

function restingNode(settings: Settings) {
  return (database: TestDatabase, more: Settings): TestNode =>
    createTestNode(database, { ...settings, ...more });
}

function startedNode(settings: Settings) {
  return (database: TestDatabase, more: Settings): TestNode => {
    const node = createTestNode(database, { ...loopbackTargets, ...settings, ...more });
    node.service.start();
    return node;
  };
}

function nodesWith(
  create: (database: TestDatabase, more: Settings) => TestNode,
  shared?: () => Promise<SharedNode>,
) {
  return databaseTest({ shared })
    .extend("settings", file, ({}): Settings => ({}))
    .extend("newNode", file, ({ database, settings }, { onCleanup }) => {
      const nodes: TestNode[] = [];
      onCleanup(async () => {
        await inTime(Promise.all(nodes.map((node) => node.stop())));
      });
      return (more: Settings = {}): TestNode => {
        const node = create(database, { ...settings, ...more });
        nodes.push(node);
        return node;
      };
    })
    .extend("node", file, async ({ newNode }, { onCleanup }) => {
      if (shared === undefined) return newNode();
      const { node, leave } = await shared();
      onCleanup(leave);
      return node;
    })
    .extend("other", file, ({ newNode }) => newNode())
    .extend("url", file, ({ node }) => node.listen())
    .extend("account", file, ({ node }) => signUp(node))
    .extend("organization", file, ({ node, account, receiver }) => organizationOf(node, account, receiver))
    .extend("call", file, ({ organization }) => organization.call)
    .extend("statusOf", file, ({ organization }) => organization.statusOf)
    .extend("settled", file, ({ organization }) => organization.settled)
    .extend("newTarget", file, ({ organization }) => organization.newTarget)
    .extend("own", async ({ node, receiver }) => organizationOf(node, await signUp(node), receiver));
}

/**
 * A `service` process with these settings, more on the same database (`other`, or `newService` with further
 * settings), an `account` with its `organization` as in `nodeTest`, and its `target` at the receiver.
 */
export function serviceTest(settings: Settings = {}) {
  return servicesWith(settings);
}

/**
 * Fixtures of `serviceTest` with a `service` of the default settings that other files use as well, under the
 * conditions of `sharedNodeTest`.
 */
export function sharedServiceTest() {
  return servicesWith({}, sharedService);
}

function servicesWith(settings: Settings, shared?: () => Promise<SharedService>) {
  return databaseTest({ shared })
    .extend("newService", file, ({ database }, { onCleanup }) => {
      const newService = services(onCleanup);
      return (more: Settings = {}, databaseUrl = database.url) =>
        newService({ ...settings, ...more }, databaseUrl);
    })
    .extend("service", file, async ({ newService }, { onCleanup }) => {
      if (shared === undefined) return newService();
      const { service, leave } = await shared();
      onCleanup(leave);
      // Earlier output belongs to other files.
      const before = service.output().length;
      return { ...service, output: () => service.output().slice(before) };
    })
    .extend("other", file, ({ newService }) => newService())
    .extend("account", file, ({ service }) => signUp(service))
    .extend("organization", file, ({ service, account, receiver }) =>
      organizationOf(service, account, receiver),
    )
    .extend("target", file, ({ service, account, receiver }) =>
      createWebhookTarget(service, account, receiver.url),
    )
    .extend("call", file, ({ organization }) => organization.call)
    .extend("statusOf", file, ({ organization }) => organization.statusOf)
    .extend("settled", file, ({ organization }) => organization.settled)
    .extend("newTarget", file, ({ organization }) => organization.newTarget)
    .extend("own", async ({ service, receiver }) => organizationOf(service, await signUp(service), receiver))
    .extend("newAgent", async ({}, { onCleanup }) => newAgents(onCleanup))
    .extend("folder", async ({}, { onCleanup }) => newFolder(onCleanup));
}

/** Each test has a `database` without a schema, and a `pool` of connections to it: for tests that create schemas. */
export const emptyDatabaseTest = test
  .extend("database", ({}, { onCleanup }) => dropping(onCleanup, createEmptyTestDatabase()))
  .extend("pool", ({ database }, { onCleanup }) => newPool(onCleanup, database, 2));

/**
 * Each test has its own `database`, `pool`, `receiver` and, through `start`, services; they are killed at its end.
 */
export const stageTest = test
  .extend("database", ({}, { onCleanup }) => dropping(onCleanup, createTestDatabase()))
  .extend("pool", ({ database }, { onCleanup }) => newPool(onCleanup, database, 2))
  .extend("proxy", ({ database }, { onCleanup }) => stopping(onCleanup, startDatabaseProxy(database)))
  .extend("receiver", ({}, { onCleanup }) => stopping(onCleanup, startReceiver()))
  .extend("cards", ({}, { onCleanup }) => stopping(onCleanup, startCardServer()))
  .extend("start", ({ database }, { onCleanup }) => {
    const newService = services(onCleanup);
    return (env: Settings = {}, databaseUrl = database.url) => newService(env, databaseUrl);
  })
  .extend("newAgent", async ({}, { onCleanup }) => newAgents(onCleanup))
  .extend("folder", async ({}, { onCleanup }) => newFolder(onCleanup));

/**
 * Each test also has a `service` with these settings, further ones through `again`, an `account`, and a `target`
 * at the receiver.
 */
export function stagedTest(settings: Settings = {}) {
  return stageTest
    .extend(
      "again",
      ({ start }) =>
        (databaseUrl?: string) =>
          start(settings, databaseUrl),
    )
    .extend("service", ({ again }) => again())
    .extend("account", ({ service }) => signUp(service))
    .extend("target", ({ service, account, receiver }) =>
      createWebhookTarget(service, account, receiver.url),
    );
}

interface DatabaseOptions {
  poolSize?: number;
  shared?: (() => Promise<{ database: TestDatabase }>) | undefined;
}

type Settings = Record<string, string>;
type OnCleanup = (cleanUp: () => Promise<void>) => void;

/** A database that is dropped at the end. */
async function dropping(onCleanup: OnCleanup, creating: Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await creating;
  onCleanup(() => inTime(database.drop()));
  return database;
}

/** A pool that is ended before its database is dropped. */
function newPool(onCleanup: OnCleanup, database: TestDatabase, size: number): pg.Pool {
  const pool = testPool(database, size);
  onCleanup(() => inTime(pool.end()));
  return pool;
}

/** A part that is stopped at the end. */
async function stopping<T extends { stop(): Promise<void> }>(
  onCleanup: OnCleanup,
  starting: Promise<T>,
): Promise<T> {
  const started = await starting;
  onCleanup(() => inTime(started.stop()));
  return started;
}

/**
 * Vitest has no time limit for clean-ups, and one that hangs keeps the whole run from ending: a pool ends only
 * when each connection was returned, which a failed test may not have done.
 */
async function inTime(ending: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  const isLate = delay(60_000, true, { signal: limit.signal }).catch(() => false);
  const late = await Promise.race([ending.then(() => false), isLate]).finally(() => limit.abort());
  if (late) throw new Error("a fixture of this file does not end");
}

/** Starts services, which are killed at the end. */
function services(onCleanup: OnCleanup): (env: Settings, databaseUrl: string) => Promise<ServiceProcess> {
  const started: ServiceProcess[] = [];
  onCleanup(async () => {
    for (const service of started) service.kill("SIGKILL");
    await Promise.all(started.map((service) => service.ended));
  });
  return async (env, databaseUrl) => {
    const service = await startService({ storage: { databaseUrl }, env });
    started.push(service);
    return service;
  };
}

/** Starts agents for a test, which end with it. */
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

/** A folder that is removed with its content at the end. */
async function newFolder(onCleanup: OnCleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-test-folder-"));
  onCleanup(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
