import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, readEvent, sendItem, sendItems, type WebhookTarget } from "./support/items.ts";
import { freePort } from "./support/freePort.ts";
import { answerOk } from "./support/receiver.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { hotRows, storeDueItems } from "./support/storedItems.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { stageTest } from "./support/fixtures.ts";
import { spoilSecret } from "./support/storedStates.ts";

/*
 * An item that has to wait for a hanging request waits until that attempt times out, after a minute here. Items
 * that must not wait have to arrive before any of these attempts has ended.
 */
const attemptMs = 60_000;
const limitMs = 45_000;
/** Number of ended requests to paths that begin with /hang, which are never answered. */
let ended = 0;
let service: ServiceProcess;
let account: Account;

const it = stageTest
  .extend("begin", ({ start }) => async (env: Record<string, string> = {}): Promise<void> => {
    service = await start({ POSTRIDER_DELIVERY_TIMEOUT_MS: String(attemptMs), ...env });
    ended = 0;
    account = await signUp(service);
  })
  .extend("targetAt", ({ receiver }) => {
    // Paths that begin with /hang are never answered.
    receiver.answer = (received, response) => {
      if (received.path.startsWith("/hang")) response.on("close", () => ended++);
      else answerOk(received, response);
    };
    return (path: string) => createWebhookTarget(service, account, receiver.url + path);
  })
  /** A few at a time: creating the targets must not overload the service. */
  .extend("targetsAt", ({ targetAt }) => async (path: string, count: number): Promise<WebhookTarget[]> => {
    const made: WebhookTarget[] = [];
    while (made.length < count) {
      const next = Array.from({ length: Math.min(8, count - made.length) }, (_, n) => made.length + n);
      made.push(...(await Promise.all(next.map((index) => targetAt(`${path}/${index}`)))));
    }
    return made;
  })
  .extend("storeDue", ({ pool }) => async (target: WebhookTarget, count: number): Promise<void> => {
    await storeDueItems(pool, { orgId: account.user.org_id, targetId: target.id, count });
  })
  /** Expects that items sent one after another each arrive before the next is sent. */
  .extend(
    "expectPrompt",
    ({ receiver }) =>
      async (target: WebhookTarget, path: string, count: number): Promise<void> => {
        const before = receiver.at(path).length;
        for (let sent = 1; sent <= count; sent++) {
          await sendItem(service, account, target.id);
          await receiver.arrivals(before + sent, { path, limitMs });
        }
        expect(ended).toBe(0);
      },
  );

describe("a healthy target's item arrives at once", () => {
  it("while 40 targets hang, each with items waiting, and few requests may be in progress", async ({
    begin,
    targetsAt,
    targetAt,
    receiver,
    expectPrompt,
  }) => {
    await begin({ POSTRIDER_MAX_IN_FLIGHT: "64" });
    const hanging = await targetsAt("/hang", 40);
    const healthy = await targetAt("/healthy");
    for (const { id } of hanging) await sendItems(service, account, id, 10);
    const isHanging = (): number => receiver.received.filter((one) => one.path.startsWith("/hang")).length;
    await until(() => isHanging() >= 8, Boolean, limitMs);
    await expectPrompt(healthy, "/healthy", 20);
    await expectPrompt(await targetAt("/new"), "/new", 5);
    expect(isHanging()).toBeLessThan(64);
  });

  it("while targets hang that were healthy and busy shortly before", async ({
    begin,
    receiver,
    targetsAt,
    targetAt,
    expectPrompt,
  }) => {
    await begin({ POSTRIDER_MAX_IN_FLIGHT: "64" });
    let isDown = false;
    receiver.answer = (received, response) => {
      if (!isDown || !received.path.startsWith("/hang")) answerOk(received, response);
    };
    const once = await targetsAt("/hang", 8);
    const healthy = await targetAt("/healthy");
    await Promise.all(once.map(({ id }) => sendItems(service, account, id, 100)));
    await receiver.arrivals(800);
    isDown = true;
    await Promise.all(once.map(({ id }) => sendItems(service, account, id, 50)));
    await expectPrompt(healthy, "/healthy", 20);
  });

  it("while 200 hanging targets have more items waiting than memory holds", async ({
    begin,
    targetsAt,
    targetAt,
    storeDue,
    receiver,
    expectPrompt,
  }) => {
    await begin({ POSTRIDER_ROLES: "api" });
    const hanging = await targetsAt("/hang", 200);
    const healthy = await targetAt("/healthy");
    for (const target of hanging) await storeDue(target, 100);
    await service.stop();
    const login = account;
    await begin();
    account = login;
    await until(() => receiver.received.length > 100, Boolean, limitMs);
    await expectPrompt(healthy, "/healthy", 20);
  });

  it("while another target has thousands of items waiting, and a third refuses every connection", async ({
    begin,
    targetAt,
    storeDue,
    pool,
    receiver,
    expectPrompt,
  }) => {
    await begin();
    const [busy, healthy] = [await targetAt("/busy"), await targetAt("/healthy")];
    // The busy receiver answers slowly, so that most of its items still wait when the healthy target's items
    // arrive.
    let isPatient = true;
    receiver.answer = (received, response) => {
      if (isPatient && received.path === "/busy") setTimeout(() => answerOk(received, response), 100);
      else answerOk(received, response);
    };
    const refused = await createWebhookTarget(service, account, `http://127.0.0.1:${await freePort()}`);
    await storeDue(refused, 2_000);
    await storeDue(busy, 5_000);
    await receiver.arrivals(100, { path: "/busy" });
    await expectPrompt(healthy, "/healthy", 20);
    const { waiting } = await hotRows(pool);
    expect(waiting).toBeGreaterThan(2_000);
    // Claimed items arrive as promptly as those dispatched from memory.
    await storeDue(healthy, 10);
    await receiver.arrivals(30, { path: "/healthy", limitMs });
    isPatient = false;
    await receiver.arrivals(5_000, { path: "/busy", limitMs });
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(5_000 + 30);
  });
});

it("a target whose secret cannot be decrypted has the reason on record, and delays no other", async ({
  begin,
  targetAt,
  pool,
  receiver,
  expectPrompt,
}) => {
  await begin();
  const [unreadable, healthy] = [await targetAt("/unreadable"), await targetAt("/healthy")];
  await spoilSecret(pool, unreadable.id);
  const id = await sendItem(service, account, unreadable.id);
  await expectPrompt(healthy, "/healthy", 3);
  await until(
    async () => {
      const [attempt] = (await readEvent(service, account, id)).delivery_attempts;
      return /signing secret/.test(attempt?.error ?? "");
    },
    Boolean,
    limitMs,
  );
  await expectPrompt(healthy, "/healthy", 3);
  expect(receiver.at("/unreadable")).toEqual([]);
});
