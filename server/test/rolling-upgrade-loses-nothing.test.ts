import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { createPool } from "../src/postgres/pool.ts";
import { type Balancer, createBalancer } from "./support/balancer.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";
import { installPackage } from "./support/installPackage.ts";
import { acceptedEvents, createWebhookTarget } from "./support/items.ts";
import { startMixedLoad } from "./support/mixedLoad.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { hotRows } from "./support/storedItems.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

/*
 * The version before, as it was packed when it was released (`npm run release:fixture`), and this one take each other's
 * place on one database under load, there and back and there again.
 */

const versionBefore = join(import.meta.dirname, "fixtures/version-before.tgz");
/** Requests that a process must have served before the next step. */
const enough = 60;

let database: TestDatabase;
let pool: pg.Pool;
let receiver: Receiver;
let tree: string;
let oldCommand: string;
const started: ServiceProcess[] = [];

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), "postrider-before-"));
  oldCommand = await installPackage(versionBefore, tree);
  database = await createEmptyTestDatabase();
  pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  receiver = await startReceiver();
});

afterAll(async () => {
  for (const service of started) service.kill("SIGKILL");
  await Promise.all(started.map((service) => service.ended));
  await receiver.stop();
  await pool.end();
  await database.drop();
  await rm(tree, { recursive: true, force: true });
});

async function start(command?: string): Promise<ServiceProcess> {
  const service = await startService({
    storage: { databaseUrl: database.url },
    ...(command !== undefined && { command }),
  });
  started.push(service);
  return service;
}

/** Starts a process, gives it its turns, and waits until all in the rotation have served with it. */
async function bringIn(
  balancer: Balancer,
  others: ServiceProcess[],
  command?: string,
): Promise<ServiceProcess> {
  const service = await start(command);
  balancer.add(service);
  const before = others.map((other) => balancer.served(other));
  await until(
    () => [balancer.served(service), ...others.map((other, n) => balancer.served(other) - before[n]!)],
    (counts) => counts.every((count) => count >= enough),
    60_000,
  );
  return service;
}

async function takeOut(balancer: Balancer, service: ServiceProcess): Promise<void> {
  await balancer.remove(service);
  expect(await service.stop(), service.output()).toBe(0);
}

/** Of items to `/flaky`, one in four by its id: so few that the target's circuit stays closed. */
function isRefusedFirst(id: string): boolean {
  return Number.parseInt(id.at(-5)!, 16) < 4;
}

/** Refuses some first attempts, holds what comes to `/slow` for a moment, and counts what it took. */
function answerByPath(): Map<string, number> {
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
}

test(
  "two versions take each other's place under load: nothing is refused, lost or doubled",
  { timeout: 240_000 },
  async () => {
    const taken = answerByPath();
    const balancer = createBalancer();
    const oldOnes = await Promise.all([start(oldCommand), start(oldCommand)]);
    const account = await signUp(oldOnes[0]);
    const paths = ["/plain", "/slow", "/flaky"];
    const webhooks = await Promise.all(
      paths.map((path) =>
        createWebhookTarget(oldOnes[0], account, receiver.url + path, { retry_interval_seconds: 1 }),
      ),
    );
    const mailbox = await oldOnes[0].call("POST", "/api/v1/targets", {
      key: account.api_key,
      body: { kind: "mailbox", name: "box" },
    });
    const mailboxId = mailbox.body.id as string;
    for (const service of oldOnes) balancer.add(service);
    const load = startMixedLoad({
      balancer,
      key: account.api_key,
      targetIds: [...webhooks.map(({ id }) => id), mailboxId],
      mailboxId,
      senders: 4,
      pauseMs: 15,
      consumers: 2,
    });

    const first = await bringIn(balancer, [...oldOnes]);
    await takeOut(balancer, oldOnes[0]);
    // Something is wrong with the new version: back to the one before.
    const again = await bringIn(balancer, [oldOnes[1], first], oldCommand);
    await takeOut(balancer, first);
    const second = await bringIn(balancer, [oldOnes[1], again]);
    await takeOut(balancer, oldOnes[1]);
    await takeOut(balancer, again);
    await load.stop();

    await until(
      () => hotRows(pool),
      ({ waiting, leased }) => waiting + leased === 0,
      60_000,
    );
    expect(balancer.problems).toEqual([]);
    const wanted = webhooks.flatMap(({ id }) => load.accepted.get(id)!);
    expect(wanted.filter((id) => taken.get(id) !== 1)).toEqual([]);
    expect(taken.size).toBe(wanted.length);
    expect(load.acknowledged.toSorted()).toEqual(load.accepted.get(mailboxId)!.toSorted());
    const { rows } = await pool.query("select from messages");
    expect(rows).toHaveLength(0);
    expect(await acceptedEvents(second, account)).toBe(wanted.length + load.acknowledged.length);
    for (const service of started) expect(service.output()).not.toMatch(/"level":"(error|fatal)"/);
  },
);
