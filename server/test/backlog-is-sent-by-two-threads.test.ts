import { expect, onTestFinished } from "vitest";
import { createWebhookTarget } from "./support/items.ts";
import { answerOk, type Received, type Receiver, startReceiver } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { hotRows, storeDueItems } from "./support/storedItems.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { databaseTest, file } from "./support/fixtures.ts";

const it = databaseTest()
  /** A service whose second thread has been lent a part of a backlog that goes on. */
  .extend("lendBacklog", file, ({ database, pool }) => async (): Promise<Stage> => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.stop());
    const service = await startService({
      storage: { databaseUrl: database.url },
      env: {
        LOG_LEVEL: "info",
        POSTRIDER_LOG_REQUESTS: "true",
        POSTRIDER_SENDING_THREADS: "2",
        POSTRIDER_TARGET_CONCURRENCY: String(concurrency),
      },
    });
    onTestFinished(async () => {
      service.kill("SIGKILL");
      await service.ended;
    });
    const account = await signUp(service);
    const target = await createWebhookTarget(service, account, receiver.url, { headers: ownHeaders });
    let stored = 0;
    await until(
      async () => {
        // Who is busy enough to lend depends on the machine, so there is more to do until somebody is.
        if ((await hotRows(pool)).waiting < batch / 2) {
          await storeDueItems(pool, { orgId: account.user.org_id, targetId: target.id, count: batch });
          stored += batch;
        }
        return metric(service, "postrider_targets_lent_total");
      },
      (lent) => lent > 0,
      limit,
    );
    return { service, receiver, stored: () => stored };
  })
  .extend("waiting", file, ({ pool }) => async (): Promise<number> => {
    const rows = await hotRows(pool);
    return rows.waiting + rows.leased;
  });

const concurrency = 24;
const batch = 5_000;
const limit = 20_000;
const ownHeaders = {
  Authorization: "Bearer of-the-receiver",
  "X-Tenant": { value: "shop-7", secret: false },
};

/** What a request has of them, as it arrived. */
function ownHeadersOf({ headers }: Received): unknown[] {
  return [headers["authorization"], headers["x-tenant"]];
}

interface Stage {
  service: ServiceProcess;
  receiver: Receiver;
  /** Items stored so far. */
  stored: () => number;
}

async function metric(service: ServiceProcess, name: string): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const values = text.matchAll(new RegExp(String.raw`^${name}(?:\{[^}]*\})? (\S+)$`, "gm"));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

it("both threads keep a target's limit together, deliver each item once with the target's own headers, and count and log all", async ({
  lendBacklog,
  waiting,
}) => {
  const { service, receiver, stored } = await lendBacklog();
  let most = 0;
  let held: (() => void)[] = [];
  const letGo = (): void => {
    const answers = held;
    held = [];
    for (const answer of answers) answer();
  };
  // Answers wait for others, so that as many requests are under way as there may be.
  const slow = setInterval(letGo, 50);
  onTestFinished(() => clearInterval(slow));
  receiver.answer = (received, response) => {
    most = Math.max(
      most,
      held.push(() => answerOk(received, response)),
    );
    if (held.length >= concurrency) setImmediate(letGo);
  };
  await until(waiting, (count) => count === 0, limit);
  expect(most).toBe(concurrency);
  const ids = receiver.received.map(({ id }) => id);
  expect(ids).toHaveLength(stored());
  expect(new Set(ids).size).toBe(stored());
  const carried = new Set(receiver.received.map((one) => JSON.stringify(ownHeadersOf(one))));
  expect([...carried]).toEqual([JSON.stringify([ownHeaders.Authorization, ownHeaders["X-Tenant"].value])]);
  expect(await metric(service, "postrider_attempts_total")).toBe(stored());
  expect(await metric(service, "postrider_delivery_latency_seconds_count")).toBe(stored());
  expect(await service.stop()).toBe(0);
  const attempts = service.output().match(/^\{.*"msg":"attempt"\}$/gm) ?? [];
  expect(attempts).toHaveLength(stored());
  expect(service.output()).not.toMatch(/"level":[456]0/);
});

it("a service that is stopped while both send has finished, or given back, all that they had", async ({
  lendBacklog,
  pool,
}) => {
  const { service, receiver, stored } = await lendBacklog();
  expect(await service.stop()).toBe(0);
  const { waiting: due, leased } = await hotRows(pool);
  expect(leased).toBe(0);
  const ids = receiver.received.map(({ id }) => id);
  expect(ids.length + due).toBe(stored());
  expect(new Set(ids).size).toBe(ids.length);
});
