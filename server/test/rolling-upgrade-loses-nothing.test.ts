import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type Balancer, createBalancer } from "./support/balancer.ts";
import { createEmptyTestDatabase } from "./support/database.ts";
import { installPackage } from "./support/installPackage.ts";
import { acceptedEvents, createWebhookTarget, createMailboxTarget } from "./support/items.ts";
import { startMixedLoad } from "./support/mixedLoad.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, stageTest } from "./support/fixtures.ts";
import { untilNothingIsDue } from "./support/storedItems.ts";
import { dropLastDay } from "./support/days.ts";
import { holdReading, isLockAwaited } from "./support/heldLocks.ts";

/*
 * The previous version, as packed for its release (`npm run release:fixture`), and this version replace each other
 * on one database under load: upgrade, downgrade and upgrade again.
 */

const versionBefore = join(import.meta.dirname, "fixtures/version-before.tgz");
/** Number of requests that a process must have served before the next step. */
const enough = 40;

const it = stageTest
  .extend("database", async ({}, { onCleanup }) => {
    const database = await createEmptyTestDatabase();
    onCleanup(() => database.drop());
    return database;
  })
  .extend("oldCommand", file, async ({}, { onCleanup }) => {
    const tree = await mkdtemp(join(tmpdir(), "postrider-before-"));
    onCleanup(() => rm(tree, { recursive: true, force: true }));
    return installPackage(versionBefore, tree);
  })
  .extend("started", ({}, { onCleanup }): ServiceProcess[] => {
    const started: ServiceProcess[] = [];
    onCleanup(async () => {
      for (const service of started) service.kill("SIGKILL");
      await Promise.all(started.map((service) => service.ended));
    });
    return started;
  })
  .extend(
    "launch",
    ({ database, started }) =>
      async (command?: string, killedBy?: AbortSignal): Promise<ServiceProcess> => {
        const service = await startService({
          storage: { databaseUrl: database.url },
          ...(command !== undefined && { command }),
          ...(killedBy !== undefined && { killedBy }),
        });
        started.push(service);
        return service;
      },
  )
  /**
   * Starts a process, adds it to the rotation, and waits until all processes of the rotation have served beside
   * it.
   */
  .extend(
    "bringIn",
    ({ launch }) =>
      async (balancer: Balancer, others: ServiceProcess[], command?: string): Promise<ServiceProcess> => {
        const service = await launch(command);
        balancer.add(service);
        const before = others.map((other) => balancer.served(other));
        await until(
          () => [balancer.served(service), ...others.map((other, n) => balancer.served(other) - before[n]!)],
          (counts) => counts.every((count) => count >= enough),
          60_000,
        );
        return service;
      },
  )
  /** Refuses some first attempts, delays answers at `/slow`, and counts accepted requests. */
  .extend("taken", ({ receiver }): Map<string, number> => {
    const taken = new Map<string, number>();
    const tried = new Set<string>();
    receiver.answer = ({ path, id }, response) => {
      if (path === "/flaky" && isRefusedFirst(id) && !tried.has(id)) {
        tried.add(id);
        response.writeHead(503).end();
        return;
      }
      taken.set(id, (taken.get(id) ?? 0) + 1);
      setTimeout(() => response.writeHead(200).end(), path === "/slow" ? 20 : 0);
    };
    return taken;
  });

async function takeOut(balancer: Balancer, service: ServiceProcess): Promise<void> {
  await balancer.remove(service);
  expect(await service.stop(), service.output()).toBe(0);
}

/**
 * Whether the first attempt of an item to `/flaky` is refused: one item in four, so that the target's circuit
 * stays closed.
 */
function isRefusedFirst(id: string): boolean {
  return Number.parseInt(id.at(-5)!, 16) < 4;
}

it("two versions replace each other under load, and nothing is refused, lost or duplicated", async ({
  taken,
  launch,
  started,
  oldCommand,
  receiver,
  bringIn,
  pool,
}) => {
  const balancer = createBalancer();
  const oldOnes = await Promise.all([launch(oldCommand), launch(oldCommand)]);
  const account = await signUp(oldOnes[0]);
  const paths = ["/plain", "/slow", "/flaky"];
  const webhooks = await Promise.all(
    paths.map((path) =>
      createWebhookTarget(oldOnes[0], account, receiver.url + path, { retry_interval_seconds: 1 }),
    ),
  );
  const mailboxId = await createMailboxTarget(oldOnes[0], account);
  for (const service of oldOnes) balancer.add(service);
  const load = startMixedLoad({
    balancer,
    key: account.api_key,
    targetIds: [...webhooks.map(({ id }) => id), mailboxId],
    mailboxId,
    senders: 4,
    pauseMs: 40,
    consumers: 2,
  });

  const first = await bringIn(balancer, [...oldOnes]);
  await takeOut(balancer, oldOnes[0]);
  // Downgrade after a problem with the new version.
  const again = await bringIn(balancer, [oldOnes[1], first], oldCommand);
  await takeOut(balancer, first);
  const second = await bringIn(balancer, [oldOnes[1], again]);
  await takeOut(balancer, oldOnes[1]);
  await takeOut(balancer, again);
  await load.stop();

  await untilNothingIsDue(pool, 60_000);
  expect(balancer.problems).toEqual([]);
  const wanted = webhooks.flatMap(({ id }) => load.accepted.get(id)!);
  expect(wanted.filter((id) => taken.get(id) !== 1)).toEqual([]);
  expect(taken.size).toBe(wanted.length);
  expect(load.acknowledged.toSorted()).toEqual(load.accepted.get(mailboxId)!.toSorted());
  for (const status of ["UNREAD", "CLAIMED", "DEAD"]) {
    const path = `/api/v1/mailboxes/${mailboxId}/messages?status=${status}`;
    expect((await second.call("GET", path, { key: account.api_key })).body).toMatchObject({ messages: [] });
  }
  expect(await acceptedEvents(second, account)).toBe(wanted.length + load.acknowledged.length);
  for (const service of started) expect(service.output()).not.toMatch(/"level":[56]0/);
}, 240_000);

it("an open transaction and a kill during the migration delay only the new version", async ({
  taken,
  launch,
  oldCommand,
  receiver,
  pool,
}) => {
  const balancer = createBalancer();
  const old = await launch(oldCommand);
  const account = await signUp(old);
  const webhook = await createWebhookTarget(old, account, `${receiver.url}/plain`);
  const mailboxId = await createMailboxTarget(old, account);
  balancer.add(old);
  const load = startMixedLoad({
    balancer,
    key: account.api_key,
    targetIds: [webhook.id, mailboxId],
    mailboxId,
    senders: 2,
    pauseMs: 40,
    consumers: 1,
  });
  const servedMore = async (service: ServiceProcess): Promise<void> => {
    const before = balancer.served(service);
    await until(() => balancer.served(service) - before >= enough);
  };
  await servedMore(old);
  // The new version then has to create a partition, for which it needs the lock that the reader holds.
  await dropLastDay(pool, "events");
  const endReading = await holdReading(pool, "events");
  /** A process waits for the lock while it prepares the database. */
  const isHeldUp = (): Promise<boolean> => isLockAwaited(pool, "events");

  const killing = new AbortController();
  const killed = launch(undefined, killing.signal).catch(() => "killed");
  await until(isHeldUp);
  await servedMore(old);
  killing.abort();
  expect(await killed).toBe("killed");
  const starting = launch();
  await until(isHeldUp);
  await servedMore(old);
  await endReading();

  const service = await starting;
  balancer.add(service);
  await servedMore(service);
  await takeOut(balancer, old);
  await load.stop();
  await untilNothingIsDue(pool, 60_000);
  expect(balancer.problems).toEqual([]);
  const wanted = load.accepted.get(webhook.id)!;
  expect(wanted.filter((id) => taken.get(id) !== 1)).toEqual([]);
  expect(taken.size).toBe(wanted.length);
  expect(load.acknowledged.toSorted()).toEqual(load.accepted.get(mailboxId)!.toSorted());
}, 120_000);
