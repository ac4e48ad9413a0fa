import { describe, expect } from "vitest";
import { foldMailboxActivity } from "../src/mailbox/finish/sweepMessages.ts";
import { foldActivity } from "../src/stats/foldActivity.ts";
import { createMailboxTarget, createWebhookTarget, sendItem } from "./support/items.ts";
import { type Account, type Answer, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";
import { countRows } from "./support/unseenRows.ts";

const it = startedNodeTest({
  // The tests do the folding.
  POSTRIDER_ROLES: "api,dispatcher",
})
  .extend(
    "askStats",
    file,
    ({ account, node }) =>
      (query = "", owner: Account = account): Promise<Answer> =>
        node.call("GET", `/api/v1/stats${query}`, { key: owner.api_key }),
  )
  .extend("totalsOf", file, ({ askStats }) => async (targetId: string) => {
    const { status, body } = await askStats(`?target_id=${targetId}`);
    expect(status).toBe(200);
    return body.totals;
  })
  .extend("fold", file, ({ node }) => async (): Promise<void> => {
    await foldMailboxActivity(node.pool);
    await foldActivity(node.pool);
  })
  /** Expects these counts of accepted, delivered, retried and failed items, before and after folding. */
  .extend(
    "expectTotals",
    file,
    ({ totalsOf, askStats, fold }) =>
      async (targetId: string, [accepted, delivered, retried, failed]: number[]): Promise<void> => {
        const expected = { accepted, delivered, retried, failed, latency_ms: delivered === 0 ? null : took };
        expect(await totalsOf(targetId)).toEqual(expected);
        const before = await askStats(`?target_id=${targetId}`);
        await fold();
        const after = await askStats(`?target_id=${targetId}`);
        // A step may have ended meanwhile.
        expect(after.body.totals).toEqual(before.body.totals);
        expect(after.body.points).toEqual(before.body.points);
      },
  );

it.beforeAll(({ receiver }) => {
  receiver.answer = ({ path }, response) => {
    response.writeHead(Number(/^\/(\d{3})/.exec(path)?.[1] ?? 200)).end();
  };
});

const took = { p50: expect.any(Number), p95: expect.any(Number), p99: expect.any(Number) };

describe("the statistics of a target", () => {
  it("count accepted and delivered items at once, folded or not", async ({
    organization: { newTarget, send, settled },
    totalsOf,
    expectTotals,
    askStats,
  }) => {
    const { id: targetId } = await newTarget();
    expect(await totalsOf(targetId)).toEqual({
      accepted: 0,
      delivered: 0,
      retried: 0,
      failed: 0,
      latency_ms: null,
    });
    const first = await send(targetId);
    await settled(first, "DELIVERED");
    await expectTotals(targetId, [1, 1, 0, 0]);
    const more = await Promise.all(Array.from({ length: 40 }, () => send(targetId)));
    for (const id of more) await settled(id, "DELIVERED");
    await expectTotals(targetId, [41, 41, 0, 0]);
    const { body } = await askStats(`?target_id=${targetId}&step=60`);
    expect(body.step).toBe(60);
    for (const { at } of body.points) expect(at % 60).toBe(0);
    const sum = body.points.reduce((all: number, point: { delivered: number }) => all + point.delivered, 0);
    expect(sum).toBe(41);
    const { p50, p95, p99 } = body.totals.latency_ms;
    expect(p50).toBeLessThanOrEqual(p95);
    expect(p95).toBeLessThanOrEqual(p99);
    expect(p99).toBeLessThan(60_000);
  });

  it("count the items of publications, of each target and in total, folded or not", async ({
    node,
    receiver,
    askStats,
    fold,
  }) => {
    const owner = await signUp(node);
    const key = owner.api_key;
    await node.call("PUT", "/api/v1/customers/many", { key, body: {} });
    const fields = { customer_uid: "many" };
    const targets: { id: string }[] = [];
    // More targets than fit in one row of unfolded activity.
    for (let n = 0; n < 70; n++) {
      const target = await createWebhookTarget(node, owner, `${receiver.url}/200`, fields);
      await node.call("PATCH", `/api/v1/targets/${target.id}`, { key, body: { enabled: false } });
      targets.push(target);
    }
    const publish = () => node.call("POST", "/p/many", { key, body: {} });
    await Promise.all([publish(), publish(), publish()]);
    await publish();
    const seen = async () => {
      const answers = [await askStats("", owner)];
      for (const { id } of targets) answers.push(await askStats(`?target_id=${id}`, owner));
      return answers.map(({ body }) => body.totals.accepted);
    };
    const expected = [280, ...targets.map(() => 4)];
    expect(await seen()).toEqual(expected);
    await fold();
    expect(await seen()).toEqual(expected);
    expect(await countRows(node.pool, "published_activity")).toBe(0);
  });

  it("count each attempt that is followed by another as a retry, and each last failed one as a failure", async ({
    organization: { newTarget, send, settled },
    receiver,
    expectTotals,
  }) => {
    const fields = { url: `${receiver.url}/500`, max_retries: 1, retry_interval_seconds: 1 };
    const { id: targetId } = await newTarget(fields);
    await settled(await send(targetId), "FAILED");
    await expectTotals(targetId, [1, 0, 1, 1]);
  });

  it("count a replay as accepted, and a filtered item too", async ({
    organization: { call, newTarget, send, settled },
    expectTotals,
  }) => {
    const { id: targetId } = await newTarget({ event_types: ["wanted"] });
    const id = await send(targetId, { event_type: "wanted" });
    await send(targetId, { event_type: "other" });
    await settled(id, "DELIVERED");
    const replay = await call("POST", `/api/v1/events/${id}/replay`);
    await settled(replay.body.id, "DELIVERED");
    await expectTotals(targetId, [3, 2, 0, 0]);
  });

  it("count acknowledged messages of a mailbox as delivered", async ({
    organization: { account, call, send },
    node,
    totalsOf,
    fold,
  }) => {
    const mailbox = await createMailboxTarget(node, account);
    const [first] = await Promise.all([1, 2, 3].map(() => send(mailbox)));
    await call("POST", `/api/v1/mailbox-messages/${first}/claim`);
    await call("POST", `/api/v1/mailbox-messages/${first}/ack`);
    const expected = { accepted: 3, delivered: 1, retried: 0, failed: 0, latency_ms: null };
    expect(await totalsOf(mailbox)).toEqual(expected);
    await fold();
    expect(await totalsOf(mailbox)).toEqual(expected);
    await fold();
    expect(await totalsOf(mailbox)).toEqual(expected);
  });
});

describe("the statistics of an organization", () => {
  it("are the sums over its targets, including deleted ones, and no other organization's", async ({
    node,
    receiver,
    askStats,
    fold,
  }) => {
    const [owner, other] = [await signUp(node), await signUp(node)];
    const targets = await Promise.all(
      [1, 2].map(() => createWebhookTarget(node, owner, `${receiver.url}/200`)),
    );
    for (const { id } of targets) await sendItem(node, owner, id);
    const both = async (): Promise<number> => (await askStats("", owner)).body.totals.delivered;
    await until(both, (delivered) => delivered === 2);
    await node.call("DELETE", `/api/v1/targets/${targets[0]!.id}`, { key: owner.api_key });
    expect(await both()).toBe(2);
    await fold();
    expect(await both()).toBe(2);
    for (const query of ["", `?target_id=${targets[1]!.id}`, `?target_id=${owner.user.org_id}`]) {
      expect((await askStats(query, other)).body).toMatchObject({ points: [], totals: { accepted: 0 } });
    }
    const deleted = await askStats(`?target_id=${targets[0]!.id}`, owner);
    expect(deleted.body.totals.delivered).toBe(1);
  });

  it("include the messages of a mailbox that was deleted before they were folded", async ({
    node,
    askStats,
    fold,
  }) => {
    const owner = await signUp(node);
    const key = owner.api_key;
    const mailbox = await createMailboxTarget(node, owner);
    const ids = await Promise.all([1, 2, 3].map(() => sendItem(node, owner, mailbox)));
    await node.call("POST", `/api/v1/mailbox-messages/${ids[0]}/claim`, { key });
    await node.call("POST", `/api/v1/mailbox-messages/${ids[0]}/ack`, { key });
    await node.call("DELETE", `/api/v1/targets/${mailbox}`, { key });
    await fold();
    const expected = { accepted: 3, delivered: 1, retried: 0, failed: 0 };
    for (const query of ["", `?target_id=${mailbox}`])
      expect((await askStats(query, owner)).body.totals).toMatchObject(expected);
  });

  it.for([
    ["step=7", "step must be one of 60, 300, 3600, 86400"],
    ["step=x", "step must be an integer"],
    ["from=10&to=10", "from must be before to"],
    ["from=-1", "from must be at least 0"],
    ["from=1&to=2&step=60", "from is too long ago"],
    ["to=999999999999", "to must be at most 253402300799: a time in Unix seconds, not in milliseconds"],
    ["from=today", "from must be an integer: a time in Unix seconds"],
  ] as const)("are refused for ?%s with 400", async ([query, message], { askStats }) => {
    expect(await askStats(`?${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining(message) },
    });
  });

  it("are empty for an unknown target", async ({ askStats }) => {
    for (const id of ["x", "0".repeat(32), "%00"]) {
      expect((await askStats(`?target_id=${id}`)).body).toMatchObject({ points: [] });
    }
  });
});
