import { describe, expect } from "vitest";
import { createAgentTarget } from "./support/agentTargets.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";
import { acceptedEvents } from "./support/items.ts";
import type { Organization } from "./support/organization.ts";

const large = { payload: { amount: [{ numeric: [">=", 100] }] } };

let customers = 0;

/**
 * A target's filter decides which items it gets, by its value when the item is stored, whichever path the item
 * takes.
 */
const it = startedNodeTest().extend("newCustomer", file, () => async (organization: Organization) => {
  const uid = `filtered-${++customers}`;
  await organization.call("PUT", `/api/v1/customers/${uid}`, {});
  return uid;
});

const newMailbox = async (organization: Organization, fields: object): Promise<string> => {
  const { body } = await organization.call("POST", "/api/v1/targets", {
    kind: "mailbox",
    name: "m",
    ...fields,
  });
  return body.id;
};

const change = (organization: Organization, id: string, filter: object | null) =>
  organization.call("PATCH", `/api/v1/targets/${id}`, { filter });

describe("an item that is posted", () => {
  it("is FILTERED when the filter does not match, billed, and never sent; its idempotency key keeps that item", async ({
    own,
    node,
    receiver,
  }) => {
    const target = await own.newTarget({ filter: large });
    const post = (path: string, amount: number, key?: string) =>
      own.call("POST", path, { amount }, key === undefined ? {} : { "idempotency-key": key });
    const small = await post(`/t/${target.id}`, 1, "k");
    expect(small).toMatchObject({ status: 202, body: { status: "QUEUED" } });
    expect((await post(`/t/${target.id}`, 1, "k")).body).toEqual(small.body);
    expect((await post(`/t/${target.id}`, 2, "k")).status).toBe(409);
    const legacy = await post(`/e/${target.id}`, 2);
    await post(`/e/${target.id}`, 100);
    await post(`/t/${target.id}`, 101);
    const arrived = await receiver.arrivals(2, { path: target.path });
    expect(arrived.map(({ body }) => body.toString()).toSorted()).toEqual([
      '{"amount":100}',
      '{"amount":101}',
    ]);
    const filtered = await own.call("GET", "/api/v1/events?status=FILTERED");
    expect(filtered.body.events.map(({ id }: { id: string }) => id)).toEqual([legacy.body.id, small.body.id]);
    expect(await acceptedEvents(node, own.account)).toBe(4);
  });

  it("is not stored in a mailbox or sent to an agent whose filter does not match", async ({
    own,
    node,
    agent,
  }) => {
    const mailbox = await newMailbox(own, { filter: { metadata: { event_type: [{ prefix: "order." }] } } });
    const asked = { metadata: { correlation_id: [{ exists: true }], event_type: [{ exists: false }] } };
    const handoff = await createAgentTarget(node, own.account, agent.cardUrl, { filter: asked });
    const other = await own.send(mailbox, { event_type: "invoice.paid" });
    const message = await own.send(mailbox, { event_type: "order.paid" });
    const claimed = await own.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, {});
    expect(claimed.body.messages).toMatchObject([{ id: message }]);
    expect(await own.statusOf(other)).toBe("FILTERED");
    expect((await own.call("GET", `/api/v1/mailboxes/${mailbox}/stats`)).body).toMatchObject({
      ready: 0,
      claimed: 1,
    });
    const missed = await own.send(handoff, { text: "without a correlation id" });
    const { body } = await own.call("POST", `/t/${handoff}`, { text: "hello" }, { "x-correlation-id": "c" });
    await own.settled(body.id, "DELIVERED");
    expect(await own.statusOf(missed)).toBe("FILTERED");
    const of = (query: string) => own.call("GET", `/api/v1/events?${query}`);
    for (const query of [`target_id=${mailbox}&status=FILTERED`, `target_id=${handoff}&status=FILTERED`]) {
      expect((await of(query)).body.events, query).toHaveLength(1);
    }
    expect((await of("status=FILTERED")).body.events).toHaveLength(2);
  });

  it("is matched with the target's current filter, also after the filter was changed or removed", async ({
    own,
  }) => {
    const target = await own.newTarget();
    const status = async () => (await own.send(target.id, { amount: 5 }), own);
    const settledAs = async (expected: string) => {
      await status();
      const { body } = await own.call("GET", `/api/v1/events?target_id=${target.id}&limit=1`);
      await own.settled(body.events[0].id, expected);
    };
    await settledAs("DELIVERED");
    expect((await change(own, target.id, large)).body.filter).toEqual(large);
    await settledAs("FILTERED");
    await change(own, target.id, { payload: { amount: [5] } });
    await settledAs("DELIVERED");
    await change(own, target.id, { payload: { amount: [6] } });
    await settledAs("FILTERED");
    expect((await change(own, target.id, null)).body).not.toHaveProperty("filter");
    await settledAs("DELIVERED");
  });

  it("with an idempotency key is one item, even if the filter changes between requests", async ({
    own,
    node,
  }) => {
    const mailbox = await newMailbox(own, { filter: large });
    const filters = [large, null, { payload: { amount: [7] } }, { payload: { amount: [8] } }];
    const changes = (async () => {
      for (let n = 0; n < 12; n++) await change(own, mailbox, filters[n % filters.length]!);
    })();
    const posts = Array.from({ length: 60 }, () => own.call("POST", `/t/${mailbox}`, { amount: 7 }));
    const answers = await Promise.all(posts);
    await changes;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const filtered = await own.call("GET", `/api/v1/events?target_id=${mailbox}&status=FILTERED&limit=100`);
    const unread = await own.call("GET", `/api/v1/events?target_id=${mailbox}&status=UNREAD&limit=100`);
    expect(filtered.body.events.length + unread.body.events.length).toBe(60);
    expect(await acceptedEvents(node, own.account)).toBe(60);
  });
});

describe("a publication", () => {
  it("creates items for the targets whose filters match, and for no others", async ({
    own,
    node,
    newCustomer,
    receiver,
  }) => {
    const customer_uid = await newCustomer(own);
    const all = await own.newTarget({ customer_uid });
    const rich = await own.newTarget({ customer_uid, filter: large });
    const poor = await newMailbox(own, {
      customer_uid,
      filter: { payload: { amount: [{ numeric: ["<", 100] }] } },
    });
    const publish = async (amount: number): Promise<string[]> => {
      const { body } = await own.call("POST", `/p/${customer_uid}`, { amount });
      return body.items.map((item: { target_id: string }) => item.target_id);
    };
    expect(new Set(await publish(1))).toEqual(new Set([all.id, poor]));
    expect(new Set(await publish(100))).toEqual(new Set([all.id, rich.id]));
    const [arrived] = await receiver.arrivals(1, { path: rich.path });
    expect(arrived!.body.toString()).toBe('{"amount":100}');
    await change(own, rich.id, { payload: { amount: [1] } });
    await change(own, poor, null);
    expect(new Set(await publish(1))).toEqual(new Set([all.id, poor, rich.id]));
    expect(new Set(await publish(100))).toEqual(new Set([all.id, poor]));
    expect(await acceptedEvents(node, own.account)).toBe(9);
  });

  it("can be replayed later to added targets whose filters match", async ({ own, newCustomer }) => {
    const customer_uid = await newCustomer(own);
    const { body } = await own.call("POST", `/p/${customer_uid}`, { amount: 100 });
    const added = await own.newTarget({ customer_uid, filter: large });
    await own.newTarget({ customer_uid, filter: { payload: { amount: [1] } } });
    const replay = await own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "added" });
    expect(replay.body.items).toMatchObject([{ target_id: added.id }]);
  });
});

it("an invalid filter is refused with the invalid part, and nothing changes", async ({ own }) => {
  const target = await own.newTarget({ filter: large });
  const longList = Array.from({ length: 500 }, (_, index) => `value-${index}`);
  for (const [filter, error] of [
    [{ payload: { amount: [{ numeric: ["~", 1] }] } }, "filter.payload.amount.0.numeric"],
    [{ body: ["x"] }, "filter.body"],
    [{}, "filter is an empty object"],
    [{ payload: { a: longList } }, "4096 are allowed"],
    ["text", "filter"],
    [[1], "filter"],
  ] as const) {
    const answer = await change(own, target.id, filter as object);
    expect(answer, JSON.stringify(filter).slice(0, 50)).toMatchObject({ status: 400 });
    expect(answer.body.error).toContain(error);
  }
  expect((await own.call("GET", `/api/v1/targets/${target.id}`)).body.filter).toEqual(large);
});

it("can be tried on a sample, and the answer names the condition that failed", async ({ own }) => {
  const tryOut = (body: object) => own.call("POST", "/api/v1/filters/try", body);
  expect((await tryOut({ filter: large, payload: { amount: 100 } })).body).toEqual({
    verdict: "matches",
    failed: [],
  });
  expect((await tryOut({ filter: large, payload: { amount: 99 } })).body).toEqual({
    verdict: "differs",
    failed: [{ path: "payload.amount", expected: [{ numeric: [">=", 100] }], found: [99] }],
  });
  const byType = { filter: { metadata: { event_type: ["a"] } }, payload: 1, event_type: "a" };
  expect((await tryOut(byType)).body.verdict).toBe("matches");
  expect((await tryOut({ filter: { payload: [] }, payload: 1 })).body.error).toContain("filter.payload");
  expect((await tryOut({ payload: 1 })).status).toBe(400);
});
