import { expect, type TestContext, test } from "vitest";
import type pg from "pg";
import { functionSchema } from "../src/postgres/functionSchema.ts";
import { lastMigration } from "../src/postgres/migrations.ts";
import { createPool } from "../src/postgres/pool.ts";
import { ensurePartitions } from "../src/postgres/partitions.ts";
import { createTestDatabase } from "./support/database.ts";
import { acceptedEvents, createWebhookTarget, sendItem } from "./support/items.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { createTestNode, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import {
  bringBackTables,
  takeAwayTables,
  dropFunctions,
  listProcesses,
  noteLaterMigration,
  renameFunction,
} from "./support/otherHands.ts";

interface Stage {
  url: string;
  pool: pg.Pool;
  start: () => Promise<ServiceProcess>;
}

async function setStage({ onTestFinished }: TestContext): Promise<Stage> {
  const database = await createTestDatabase();
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  return {
    url: database.url,
    pool,
    async start() {
      const service = await startService({ storage: { databaseUrl: database.url } });
      onTestFinished(async () => {
        service.kill("SIGKILL");
        await service.ended;
      });
      return service;
    },
  };
}

async function expectToEnd(service: ServiceProcess, reason: string): Promise<void> {
  const { body } = await until(
    () => service.call("GET", "/readyz"),
    ({ status }) => status === 503,
  );
  expect(body.error).toContain(reason);
  expect(await service.ended).toBe(1);
  expect(service.output()).toContain(reason);
  expect(service.output()).toContain("this process ends");
}

const limits = { timeout: 120_000 };

test("a process whose functions were dropped reports that in /readyz and ends", limits, async (context) => {
  const { pool, start } = await setStage(context);
  const service = await start();
  expect(await listProcesses(pool)).toEqual([{ functions: functionSchema, running: true }]);
  expect((await service.call("GET", "/readyz")).status).toBe(200);
  await dropFunctions(pool);
  await expectToEnd(service, `the SQL functions of this process are gone from the database`);
  // A new start creates the functions again.
  const again = await start();
  expect((await again.call("GET", "/readyz")).status).toBe(200);
  expect(await again.stop()).toBe(0);
  const ended = { functions: functionSchema, running: false };
  expect(await listProcesses(pool)).toEqual([ended, ended]);
});

test(
  "a process whose tables were removed by a newer version reports that, ends, and does not start again",
  limits,
  async (context) => {
    const { pool, start } = await setStage(context);
    const service = await start();
    await noteLaterMigration(pool);
    await expectToEnd(service, "the database has migration 9999_later.sql");
    await expect(start()).rejects.toThrow(
      `which requires processes that know migration 9999; this version of Postrider knows migrations up to ${lastMigration}`,
    );
  },
);

test("a process that a newer version has replaced accepts nothing, and states when to retry", async ({
  onTestFinished,
}) => {
  const overtaken = await createTestDatabase();
  const node = createTestNode(overtaken, { POSTRIDER_ROLES: "api" });
  onTestFinished(async () => {
    await node.stop();
    await overtaken.drop();
  });
  await ensurePartitions(node.pool, Date.now());
  const account = await signUp(node);
  const { id } = await createWebhookTarget(node, account, "https://8.8.8.8/");
  await renameFunction(node.pool, "accept_items", "accept_items_otherwise");
  const answer = await node.call("POST", `/t/${id}`, { key: account.api_key, body: {} });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  await renameFunction(node.pool, "accept_items_otherwise", "accept_items");
  await sendItem(node, account, id);
  expect(await acceptedEvents(node, account)).toBe(1);
});

test("a process whose database lost its tables reports that, and waits for them", limits, async (context) => {
  const { url, start } = await setStage(context);
  const service = await start();
  await takeAwayTables(url, ["schema_changes", "processes"]);
  const { status, body } = await service.call("GET", "/readyz");
  expect([status, body.error]).toEqual([503, expect.stringContaining("has no Postrider tables")]);
  await bringBackTables(url, ["schema_changes", "processes"]);
  expect((await service.call("GET", "/readyz")).status).toBe(200);
});
