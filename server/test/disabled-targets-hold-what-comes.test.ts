import { describe, expect } from "vitest";
import { createAgentTarget } from "./support/agentTargets.ts";
import { startAgent } from "./support/agent/startAgent.ts";
import { acceptedEvents, createWebhookTarget, listEvents, sendItem, sendItems } from "./support/items.ts";
import { storeDueItems } from "./support/storedItems.ts";
import { type Answer, createTestNode, refusal } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";

const it = sharedStartedNodeTest()
  .extend(
    "patch",
    file,
    ({ call }) =>
      (id: string, body: unknown): Promise<Answer> =>
        call("PATCH", `/api/v1/targets/${id}`, body),
  )
  /** A disabled webhook target, and the path at which its deliveries would arrive. */
  .extend(
    "newDisabled",
    file,
    ({ node, account, receiver, patch }) =>
      async (): Promise<{ id: string; path: string }> => {
        const path = `/held-${++count}`;
        const { id } = await createWebhookTarget(node, account, receiver.url + path);
        expect((await patch(id, { enabled: false })).body).toMatchObject({ enabled: false });
        return { id, path };
      },
  )
  .extend(
    "arrivedAt",
    file,
    ({ receiver }) =>
      (path: string): string[] =>
        receiver.at(path).map((one) => one.id),
  )
  /**
   * Claims and delivers two items of another target, one after another. Claims go round all targets with due
   * items, so they have reached the disabled target between the two.
   */
  .extend("letOthersPass", file, ({ node, account, receiver }) => async (): Promise<void> => {
    const path = `/other-${++count}`;
    const { id } = await createWebhookTarget(node, account, receiver.url + path);
    for (const claimed of [1, 2]) {
      await storeDueItems(node.pool, { orgId: account.user.org_id, targetId: id, count: 1 });
      await receiver.arrivals(claimed, { path });
    }
  });

let count = 0;

describe("a disabled webhook", () => {
  it.for(["t", "e"])(
    "accepts items at /%s/ and delivers them once it is enabled",
    async (way, { newDisabled, node, account, call, letOthersPass, arrivedAt, patch, receiver }) => {
      const { id, path } = await newDisabled();
      const billed = await acceptedEvents(node, account);
      const item = await call("POST", `/${way}/${id}`, { n: 1 });
      expect(item).toMatchObject({ status: 202, body: { status: "QUEUED" } });
      const others = await sendItems(node, account, id, 20);
      await letOthersPass();
      const { event } = (await call("GET", `/api/v1/events/${item.body.id}`)).body;
      expect(event).toMatchObject({ status: "QUEUED", next_attempt_at: null });
      expect(arrivedAt(path)).toEqual([]);
      expect(await acceptedEvents(node, account)).toBe(billed + 21);

      expect(await patch(id, { enabled: true })).toMatchObject({ status: 200, body: { held_items: 21 } });
      await receiver.arrivals(21, { path });
      expect(new Set(arrivedAt(path))).toEqual(new Set([item.body.id, ...others]));
      expect(await patch(id, { enabled: true })).toMatchObject({ status: 200, body: { enabled: true } });
      expect((await patch(id, { enabled: true })).body).not.toHaveProperty("held_items");
    },
  );

  it("holds one item per Idempotency-Key", async ({ newDisabled, call, patch, receiver }) => {
    const { id, path } = await newDisabled();
    const key = { "idempotency-key": "once" };
    const first = await call("POST", `/t/${id}`, { n: 1 }, key);
    const second = await call("POST", `/t/${id}`, { n: 1 }, key);
    expect(second).toMatchObject({ status: 202, body: first.body });
    expect(second.headers["idempotency-replayed"]).toBe("true");
    expect((await patch(id, { enabled: true })).body.held_items).toBe(1);
    await receiver.arrivals(1, { path });
  });

  it("holds a replay too", async ({ node, account, receiver, statusOf, patch, call, letOthersPass }) => {
    const path = `/held-${++count}`;
    const { id } = await createWebhookTarget(node, account, receiver.url + path);
    const source = await sendItem(node, account, id);
    await until(
      () => statusOf(source),
      (status) => status === "DELIVERED",
    );
    await patch(id, { enabled: false });
    const replay = await call("POST", `/api/v1/events/${source}/replay`);
    expect(replay).toMatchObject({ status: 202, body: { status: "QUEUED" } });
    await letOthersPass();
    expect(await statusOf(replay.body.id)).toBe("QUEUED");
    expect((await patch(id, { enabled: true })).body.held_items).toBe(1);
    await receiver.arrivals(2, { path });
  });

  it("is enabled at /api/v1/endpoints as well", async ({ newDisabled, node, account, call, receiver }) => {
    const { id, path } = await newDisabled();
    await sendItem(node, account, id);
    const enabled = await call("PATCH", `/api/v1/endpoints/${id}`, { enabled: true });
    expect(enabled).toMatchObject({ status: 200, body: { endpoint: { enabled: true, held_items: 1 } } });
    await receiver.arrivals(1, { path });
    const renamed = await call("PATCH", `/api/v1/endpoints/${id}`, { name: "other" });
    expect(renamed.body.endpoint).not.toHaveProperty("held_items");
  });

  it("does not count held items as due", async ({
    newDisabled,
    node,
    account,
    letOthersPass,
    database,
    patch,
  }) => {
    const { id } = await newDisabled();
    await sendItems(node, account, id, 30);
    await letOthersPass();
    const other = createTestNode(database);
    try {
      const text = String((await other.call("GET", "/metrics")).body);
      const gauge = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
      expect(gauge("postrider_held_deliveries")).toBe(30);
      expect([gauge("postrider_due_deliveries"), gauge("postrider_oldest_due_seconds")]).toEqual([0, 0]);
    } finally {
      await other.stop();
    }
    await patch(id, { enabled: true, discard_held: true });
  });
});

describe("discarding held items", () => {
  it("cancels all of them, and delivers later items", async ({
    newDisabled,
    node,
    account,
    patch,
    statusOf,
    receiver,
    arrivedAt,
  }) => {
    const { id, path } = await newDisabled();
    const [held] = await sendItems(node, account, id, 40);
    await storeDueItems(node.pool, { orgId: account.user.org_id, targetId: id, count: 4_100 });
    const enabled = await patch(id, { enabled: true, discard_held: true });
    expect(enabled).toMatchObject({ status: 200, body: { enabled: true, held_items: 4_140 } });
    expect(await statusOf(held!)).toBe("CANCELED");
    expect(await listEvents(node, account, `target_id=${id}&status=CANCELED`)).toHaveLength(4_140);
    const later = await sendItem(node, account, id);
    await receiver.arrivals(1, { path });
    expect(arrivedAt(path)).toEqual([later]);
  });

  it("works at /api/v1/endpoints, too", async ({
    newDisabled,
    node,
    account,
    call,
    letOthersPass,
    statusOf,
    arrivedAt,
  }) => {
    const { id, path } = await newDisabled();
    const held = await sendItem(node, account, id);
    const enabled = await call("PATCH", `/api/v1/endpoints/${id}`, { enabled: true, discard_held: true });
    expect(enabled.body.endpoint).toMatchObject({ enabled: true, held_items: 1 });
    await letOthersPass();
    expect([await statusOf(held), arrivedAt(path)]).toEqual(["CANCELED", []]);
  });

  it("discards nothing when another part of the change is refused", async ({
    newDisabled,
    node,
    account,
    call,
    patch,
    statusOf,
  }) => {
    const { id } = await newDisabled();
    const held = await sendItem(node, account, id);
    await call("POST", "/api/v1/targets", { kind: "mailbox", name: "box", uid: "taken" });
    const discarding = { enabled: true, discard_held: true };
    const taken = await patch(id, { ...discarding, uid: "taken" });
    expect([taken.status, taken.headers["x-error-code"]]).toEqual([409, "uid_taken"]);
    expect((await patch(id, { ...discarding, customer_uid: "nobody" })).status).toBe(400);
    expect(await statusOf(held)).toBe("QUEUED");
    expect((await patch(id, discarding)).body.held_items).toBe(1);
  });

  it("is refused when the target is not being enabled or cannot hold items, and then changes nothing", async ({
    newDisabled,
    node,
    account,
    patch,
    call,
  }) => {
    const { id } = await newDisabled();
    await sendItem(node, account, id);
    for (const body of [{ discard_held: true }, { discard_held: true, enabled: false }]) {
      expect(await patch(id, body)).toMatchObject(
        refusal(400, "discard_held needs enabled: true in the same request"),
      );
    }
    expect((await patch(id, { enabled: true, discard_held: false })).body.held_items).toBe(1);
    const late = await patch(id, { enabled: true, discard_held: true, name: "other" });
    expect([late.status, late.headers["x-error-code"]]).toEqual([409, "target_enabled"]);
    expect((await call("GET", `/api/v1/targets/${id}`)).body.name).toBe("receiver");
    const mailbox = (await call("POST", "/api/v1/targets", { kind: "mailbox", name: "box" })).body.id;
    expect(await patch(mailbox, { enabled: true, discard_held: true })).toMatchObject(
      refusal(400, "discard_held does not apply to a mailbox target"),
    );
  });
});

describe("a disabled agent", () => {
  it("holds its items until it is enabled", async ({
    node,
    account,
    patch,
    call,
    letOthersPass,
    statusOf,
  }) => {
    const agent = await startAgent();
    try {
      const id = await createAgentTarget(node, account, agent.cardUrl);
      await patch(id, { enabled: false });
      const item = await call("POST", `/t/${id}`, { text: "hello" });
      expect(item).toMatchObject({ status: 202, body: { status: "QUEUED" } });
      await letOthersPass();
      expect(await statusOf(item.body.id)).toBe("QUEUED");
      expect((await patch(id, { enabled: true })).body).toMatchObject({ kind: "a2a", held_items: 1 });
      await until(
        () => statusOf(item.body.id),
        (status) => status === "DELIVERED",
      );
    } finally {
      await agent.kill();
    }
  });
});

describe("a disabled mailbox", () => {
  it("refuses items and replays, and its answer to enabling names no held items", async ({
    call,
    node,
    account,
    patch,
  }) => {
    const id = (await call("POST", "/api/v1/targets", { kind: "mailbox", name: "box" })).body.id as string;
    const source = await sendItem(node, account, id);
    await patch(id, { enabled: false });
    for (const refused of [
      await call("POST", `/t/${id}`, {}),
      await call("POST", `/api/v1/events/${source}/replay`),
    ]) {
      expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "mailbox_disabled"]);
    }
    expect((await patch(id, { enabled: true })).body).not.toHaveProperty("held_items");
    expect((await call("POST", `/t/${id}`, {})).status).toBe(202);
  });
});
