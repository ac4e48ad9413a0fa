import { describe, expect } from "vitest";
import { expectNothingLost } from "./support/afterwards.ts";
import { isRunning } from "./support/embeddedProcess.ts";
import { until } from "./support/until.ts";
import { createWebhookTarget, listEvents, readEvent, sendItems } from "./support/items.ts";
import { type Load, startLoad } from "./support/load.ts";
import { answerOk } from "./support/receiver.ts";
import { hotRows, untilNothingIsDue } from "./support/storedItems.ts";
import { stagedTest } from "./support/fixtures.ts";
import { endSessions } from "./support/otherHands.ts";

let load: Load;

const it = stagedTest({ POSTRIDER_DELIVERY_TIMEOUT_MS: "1000" })
  .extend("service", ({ again, proxy }) => again(proxy.url))
  .extend("targetIds", ({ service, account, receiver }) =>
    Promise.all(
      Array.from(
        { length: 8 },
        async (_, index) => (await createWebhookTarget(service, account, `${receiver.url}/${index}`)).id,
      ),
    ),
  )
  .extend("beginLoad", ({ service, account, targetIds }) => (through = service): void => {
    load = startLoad({ service: () => through, account, targetIds, senders: 16 });
  })
  /** Ends every session of the service, as an administrator or a failover does. */
  .extend(
    "terminateSessions",
    ({ pool }) =>
      (): Promise<void> =>
        endSessions(pool),
  );

async function acknowledgedReach(count: number): Promise<void> {
  await until(() => load.acknowledged().length >= count);
}

describe("the service continues, and nothing is lost, when its database", () => {
  it("ends its sessions repeatedly under load", async ({
    beginLoad,
    terminateSessions,
    service,
    pool,
    receiver,
  }) => {
    beginLoad();
    await acknowledgedReach(200);
    // A session that is idle when it ends is replaced before a request uses it.
    for (let round = 1; round <= 5 || load.refusals() === 0; round++) {
      await terminateSessions();
      await acknowledgedReach(load.acknowledged().length + 40);
    }
    await load.stop();
    expect(isRunning(service.pid)).toBe(true);
    await expectNothingLost({ pool, load, receiver });
  });

  it("loses answers after the commit, repeatedly", async ({ start, beginLoad, proxy, pool, receiver }) => {
    // This node does not dispatch the items that it accepts, so that every item goes through a claim.
    const front = await start({ POSTRIDER_ROLES: "api" }, proxy.url);
    beginLoad(front);
    await acknowledgedReach(100);
    const statements = ["accept_items", "claim_deliveries", "finish_deliveries"];
    for (const statement of [...statements, "claim_deliveries"]) {
      await proxy.swallowAnswerOf(statement);
      await acknowledgedReach(load.acknowledged().length + 50);
    }
    await load.stop();
    expect(await front.stop()).toBe(0);
    await expectNothingLost({ pool, load, receiver });
  });

  it("is away for a while and returns", async ({ beginLoad, proxy, service, account, pool, receiver }) => {
    beginLoad();
    await acknowledgedReach(200);
    proxy.accepts = false;
    proxy.sever();
    const before = load.refusals();
    await until(() => load.refusals() > before + 50);
    const ready = await service.call("GET", "/readyz");
    expect([ready.status, ready.headers["retry-after"]]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect((await service.call("GET", "/healthz")).status).toBe(200);
    for (const [method, path] of [
      ["GET", "/api/v1/targets"],
      ["GET", "/api/v1/usage"],
      ["POST", "/api/v1/targets"],
    ] as const) {
      const answer = await service.call(method, path, {
        key: account.api_key,
        body: method === "POST" ? { kind: "mailbox", name: "m" } : undefined,
      });
      expect([path, answer.status]).toEqual([path, 503]);
    }
    proxy.accepts = true;
    await acknowledgedReach(load.acknowledged().length + 200);
    await load.stop();
    await expectNothingLost({ pool, load, receiver });
  });
});

describe("a backlog drains, and the hot table is empty, when a receiver", () => {
  it("was down and is back: each item arrives once, in no particular order", async ({
    service,
    account,
    receiver,
    pool,
  }) => {
    const schedule = { retry_interval_seconds: 1, max_retries: 20 };
    const target = await createWebhookTarget(service, account, `${receiver.url}/down`, schedule);
    receiver.answer = (_received, response) => response.writeHead(503).end();
    const ids = await sendItems(service, account, target.id, 300);
    await until(async () => (await hotRows(pool)).waiting > 0);
    await receiver.arrivals(10, { path: "/down" });
    receiver.answer = answerOk;
    await untilNothingIsDue(pool);
    for (const id of ids.slice(0, 20)) {
      expect((await readEvent(service, account, id)).event.status).toBe("DELIVERED");
    }
    expect(await listEvents(service, account, `target_id=${target.id}&status=DELIVERED`)).toHaveLength(300);
  });
});
