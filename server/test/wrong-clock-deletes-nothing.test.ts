import { join } from "node:path";
import { describe, expect } from "vitest";
import { dayMs } from "../src/postgres/partitions.ts";
import { runEveryChore } from "./support/everyChore.ts";
import { file, loopbackTargets, serviceTest } from "./support/fixtures.ts";
import { createMailboxTarget, createWebhookTarget, sendItem } from "./support/items.ts";
import { createTestNode, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { countEveryRow } from "./support/unseenRows.ts";

/*
 * Processes with wrong clocks on one database with a correct clock: they delete nothing, and those whose clock is
 * far off accept nothing.
 */

const skewClock = join(import.meta.dirname, "../../faults/src/world/skewClock.ts");

/** Tables that chores fold into others, and the table of processes. */
const moving =
  /^(activity_steps|mailbox_activity|mailbox_minutes|processes|rate_limits|target_activity|usage_)/;

const it = serviceTest()
  .extend("skewedNode", file, ({ database }, { onCleanup }) => {
    const nodes: TestNode[] = [];
    onCleanup(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    return async (skewMs: number): Promise<TestNode> => {
      const node = createTestNode(database, loopbackTargets, { skewMs });
      nodes.push(node);
      await node.service.checkClock();
      return node;
    };
  })
  /** Number of rows of each table, without partitions. An empty partition of a past day may be dropped. */
  .extend("rows", file, ({ pool }) => async (): Promise<Record<string, number>> => {
    const counts = Object.entries(await countEveryRow(pool));
    return Object.fromEntries(counts.filter(([name, count]) => count > 0 && !moving.test(name)));
  });

it.for([40, -40, 0])(
  "chores of a process whose clock is %i days ahead delete nothing",
  async (days, { service, account, organization, rows, pool, receiver }) => {
    const { call } = organization;
    const target = await createWebhookTarget(service, account, receiver.url, { headers: { "x-a": "1" } });
    await call("PATCH", `/api/v1/targets/${target.id}`, { enabled: false, headers: { "x-a": "2" } });
    await call("POST", `/api/v1/targets/${target.id}/signing-secret/rotate`, {
      previous_secret_ends_in_seconds: 86_400,
    });
    const mailbox = await createMailboxTarget(service, account);
    await call("POST", `/t/${target.id}`, { held: true }, { "idempotency-key": "one" });
    await sendItem(service, account, mailbox, { waits: true });
    const before = await rows();
    expect(before).toMatchObject({ deliveries: expect.toSatisfy((count: number) => count > 0) });
    await runEveryChore(pool, days * dayMs);
    expect(await rows()).toEqual(before);
    const { body } = await call("GET", `/api/v1/targets/${target.id}`);
    expect(body.has_previous_signing_secret).toBe(true);
  },
);

describe("a process whose clock is days off", () => {
  it("reports that in its log, at /readyz and in its metrics, and refuses items until the clock is right", async ({
    newService,
    account,
    target,
  }) => {
    const skewed = await newService({
      NODE_OPTIONS: `--import=${skewClock}`,
      SKEW_CLOCK_MS: String(40 * dayMs),
    });
    const sentence = /the clock of this process is 40 days ahead of its database's/;
    const ready = await skewed.call("GET", "/readyz");
    expect(ready.status).toBe(503);
    expect(ready.body.error).toMatch(sentence);
    await until(() => sentence.test(skewed.output()));
    const metrics = await (await fetch(`${skewed.url}/metrics`)).text();
    expect(metrics).toMatch(/^postrider_clock_skew_seconds 34(55|56)\d{3}/m);

    const key = account.api_key;
    for (const path of [`/t/${target.id}`, "/p"]) {
      const answer = await skewed.call("POST", path, { key, body: {} });
      expect(answer.status).toBe(503);
      expect(answer.body.error).toMatch(/clocks .* disagree by more than an hour/);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    }
  });

  it("replays nothing", async ({ skewedNode, organization, account, target }) => {
    const id = await organization.send(target.id);
    await organization.settled(id, "DELIVERED");
    const node = await skewedNode(-40 * dayMs);
    const answer = await node.call("POST", `/api/v1/events/${id}/replay`, { key: account.api_key });
    expect(answer.status).toBe(503);
    expect((await node.call("GET", "/readyz")).body.error).toMatch(/40 days behind its database's/);
  });
});

it("a process whose clock is two minutes off serves, and warns", async ({ skewedNode, account, target }) => {
  const node = await skewedNode(-130_000);
  const ready = await node.call("GET", "/readyz");
  expect(ready).toMatchObject({
    status: 200,
    body: {
      status: "ready",
      warnings: expect.arrayContaining([
        expect.stringMatching(/is 2 minutes behind its database's.*deletes nothing/),
      ]),
    },
  });
  const answer = await node.call("POST", `/t/${target.id}`, { key: account.api_key, body: {} });
  expect(answer.status).toBe(202);
});

it("released items of a process are due at once, whatever the process's clock says", async ({
  skewedNode,
  account,
  organization,
}) => {
  const target = await organization.newTarget({ enabled: false });
  const id = await organization.send(target.id);
  const ahead = await skewedNode(40 * dayMs);
  const body = { enabled: true };
  const key = account.api_key;
  expect((await ahead.call("PATCH", `/api/v1/targets/${target.id}`, { key, body })).status).toBe(200);
  await organization.settled(id, "DELIVERED");
});

it("a process with a correct clock does not warn", async ({ skewedNode }) => {
  const node = await skewedNode(0);
  const { status, body } = await node.call("GET", "/readyz");
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toContain("clock");
});
