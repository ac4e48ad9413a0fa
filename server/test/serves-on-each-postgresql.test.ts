import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { startEmbedded } from "../src/postgres/embedded/startEmbedded.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { urlOf } from "./support/database.ts";
import { runEveryChore } from "./support/everyChore.ts";
import { file, stageTest } from "./support/fixtures.ts";
import { installPackage } from "./support/installPackage.ts";
import { createMailboxTarget, createWebhookTarget } from "./support/items.ts";
import { createDatabaseOn, programsOf, supportedVersions, versionOfRun } from "./support/postgresVersions.ts";
import { answerOk } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { bodyOf, signUp } from "./support/testNode.ts";
import { takesAndGives } from "./support/takesAndGives.ts";
import { organizationOf } from "./support/organization.ts";
import { createPool } from "../src/postgres/pool.ts";

/*
 * On every PostgreSQL version that the README names the service starts, on an empty database and on one of the
 * previous version, accepts items, delivers them, serves claims and runs its chores. Other tests cover the version
 * of the run; rolling-upgrade-loses-nothing covers a database of the previous version there.
 */

const others = supportedVersions.filter((version) => version !== versionOfRun);
const versionBefore = join(import.meta.dirname, "fixtures/version-before.tgz");
/** Small settings: few tests use this server, and none kills it. */
const settings = { fsync: "off", shared_buffers: "32MB", min_wal_size: "64MB", max_wal_size: "512MB" };

const it = stageTest
  .extend("oldCommand", file, async ({}, { onCleanup }) => {
    const tree = await mkdtemp(join(tmpdir(), "postrider-before-"));
    onCleanup(() => rm(tree, { recursive: true, force: true }));
    return installPackage(versionBefore, tree);
  })
  /** Starts a server of this version with an `empty` database and another one. */
  .extend("startServer", ({}, { onCleanup }) => async (version: number) => {
    const dataDir = await mkdtemp(join(clusterFolder(), "postrider-version-"));
    const server = await startEmbedded({ dataDir, settings, log: () => undefined, ...programsOf(version) });
    onCleanup(async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    });
    return {
      version: await createDatabaseOn(server.connection, "empty"),
      connection: server.connection,
      url: urlOf(server.connection),
      emptyUrl: urlOf({ ...server.connection, database: "empty" }),
    };
  })
  .extend("launch", ({}, { onCleanup }) => {
    const started: ServiceProcess[] = [];
    onCleanup(async () => {
      for (const service of started) service.kill("SIGKILL");
      await Promise.all(started.map((service) => service.ended));
    });
    return async (databaseUrl: string, command?: string): Promise<ServiceProcess> => {
      const service = await startService({
        storage: { databaseUrl },
        ...(command !== undefined && { command }),
      });
      started.push(service);
      return service;
    };
  });

it.for(others)("PostgreSQL %i", async (wanted, { startServer, launch, oldCommand, receiver }) => {
  const { version, connection, url, emptyUrl } = await startServer(wanted);
  expect(version).toBe(wanted);

  const first = await launch(emptyUrl);
  await takesAndGives(first, receiver);
  expect(await first.stop(), first.output()).toBe(0);

  // This version delivers items and serves messages that the previous version left waiting.
  const old = await launch(url, oldCommand);
  const account = await signUp(old);
  const before = organizationOf(old, account, receiver);
  receiver.answer = (_received, response) => response.writeHead(503).end();
  const webhook = await createWebhookTarget(old, account, `${receiver.url}/left`, {
    retry_interval_seconds: 1,
  });
  const mailbox = await createMailboxTarget(old, account);
  const left = await before.send(webhook.id, { left: "webhook" });
  await before.send(mailbox, { left: "message" });
  await receiver.arrivals(1, { path: "/left" });
  expect(await old.stop(), old.output()).toBe(0);

  receiver.answer = answerOk;
  const upgraded = await launch(url);
  const now = organizationOf(upgraded, account, receiver);
  await now.settled(left, "DELIVERED");
  const claim = await bodyOf(now.call("POST", `/api/v1/mailboxes/${mailbox}/claim`));
  expect(claim.messages.map(({ payload }: { payload: unknown }) => payload)).toEqual([{ left: "message" }]);
  await takesAndGives(upgraded, receiver);
  const pool = createPool({ connection, size: 2, onError: () => undefined });
  try {
    await runEveryChore(pool, 0);
  } finally {
    await pool.end();
  }
  expect(await upgraded.stop(), upgraded.output()).toBe(0);
  expect(first.output() + upgraded.output()).not.toMatch(/"level":[56]0|a chore failed/);
});
