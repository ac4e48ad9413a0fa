import { describe, expect } from "vitest";
import { createAgentTarget } from "./support/agentTargets.ts";
import { allAre, newCustomer, readPublication, publishingTest as it } from "./support/publishing.ts";
import { acceptedEvents } from "./support/items.ts";
import { isSignedWith } from "./support/receiver.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { organizationOf } from "./support/organization.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { storeMailboxTargets, waitingRows } from "./support/storedItems.ts";

/*
 * One call creates an item for every target of a customer: all of them or none, billed per item, with the payload
 * stored once.
 */

describe("a publication", () => {
  it("to more than 1,000 targets is refused with its error code, and accepts nothing", async ({
    own,
    node,
  }) => {
    await storeMailboxTargets(node.pool, own.account.user.org_id, 1_001);
    const { status, headers } = await own.call("POST", "/p", { a: 1 });
    expect([status, headers["x-error-code"]]).toEqual([409, "too_many_targets"]);
    expect((await own.call("GET", "/api/v1/publications")).body.publications).toEqual([]);
    expect(await acceptedEvents(node, own.account)).toBe(0);
  });

  it("reaches each target of the customer whose types match, signed, with the same bytes, and no other target", async ({
    own,
    node,
    customer,
    receiver,
  }) => {
    const [all, prefix, exact] = [
      await customer.webhook(),
      await customer.webhook({ event_types: ["invoice.*"] }),
      await customer.webhook({ event_types: ["order.paid", "invoice.paid"] }),
    ];
    const mailbox = await customer.mailbox();
    const missed = [
      await customer.webhook({ event_types: ["invoice", "invoices.*", "order.*"] }),
      await (await newCustomer(own)).webhook(),
      await own.newTarget(),
    ];
    const payload = { event_type: "invoice.paid", text: "grüße 😀" };
    const { status, body } = await customer.publish(payload, { "x-correlation-id": "c-1" });
    expect(status).toBe(202);
    expect(body.items.map((item: { target_id: string }) => item.target_id).toSorted()).toEqual(
      [all.id, prefix.id, exact.id, mailbox].toSorted(),
    );
    for (const target of [all, prefix, exact]) {
      const [arrived] = await receiver.arrivals(1, { path: target.path });
      expect(arrived!.body.toString()).toBe(JSON.stringify(payload));
      expect(isSignedWith(target.secret, arrived!)).toBe(true);
      expect(body.items).toContainEqual({ id: arrived!.id, target_id: target.id, status: "QUEUED" });
    }
    const claimed = await own.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, {});
    expect(claimed.body.messages).toMatchObject([
      { payload, event_type: "invoice.paid", correlation_id: "c-1" },
    ]);
    for (const { path } of missed) expect(receiver.at(path)).toEqual([]);
    const found = await until(
      () => readPublication(own, body.id),
      ({ items }) => items.filter((one: { status: string }) => one.status === "DELIVERED").length === 3,
    );
    expect(found).toMatchObject({ customer_uid: customer.uid, event_type: "invoice.paid", item_count: 4 });
    for (const { id } of body.items) {
      const bytes = await own.call("GET", `/api/v1/events/${id}/payload`);
      expect(bytes.body).toEqual(payload);
      expect((await own.read(id)).event).toMatchObject({ publication_id: body.id, correlation_id: "c-1" });
    }
    expect(await acceptedEvents(node, own.account)).toBe(4);
  });

  it("without a customer reaches the targets that belong to no customer", async ({
    own,
    customer,
    receiver,
  }) => {
    const [theirs, ours] = [await customer.webhook(), await own.newTarget()];
    const { body } = await own.call("POST", "/p", { n: 1 });
    expect(body.items).toMatchObject([{ target_id: ours.id }]);
    await receiver.arrivals(1, { path: ours.path });
    expect(receiver.at(theirs.path)).toEqual([]);
  });

  it("that matches no target is accepted, stored, and not billed", async ({ own, node, customer }) => {
    await customer.webhook({ event_types: ["a.*"] });
    const { status, body } = await customer.publish({ event_type: "b" });
    expect([status, body.items]).toEqual([202, []]);
    expect(await readPublication(own, body.id)).toMatchObject({ item_count: 0, items: [] });
    expect(await acceptedEvents(node, own.account)).toBe(0);
  });

  it("is held by disabled webhooks, and skips disabled mailboxes", async ({ own, customer, receiver }) => {
    const webhook = await customer.webhook();
    const mailbox = await customer.mailbox();
    for (const id of [webhook.id, mailbox])
      await own.call("PATCH", `/api/v1/targets/${id}`, { enabled: false });
    const { body } = await customer.publish({ n: 1 });
    expect(body.items).toMatchObject([{ target_id: webhook.id, status: "QUEUED" }]);
    expect(receiver.at(webhook.path)).toEqual([]);
    await own.call("PATCH", `/api/v1/targets/${webhook.id}`, { enabled: true });
    const [arrived] = await receiver.arrivals(1, { path: webhook.path });
    expect(arrived!.body.toString()).toBe('{"n":1}');
  });

  it("is one publication per idempotency key, however often it is requested", async ({
    own,
    node,
    customer,
    receiver,
  }) => {
    const other = await newCustomer(own);
    const webhook = await customer.webhook();
    await other.webhook();
    const key = { "idempotency-key": "once" };
    await customer.publish({ n: 0 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => customer.publish({ n: 1 }, key)));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers.filter(({ headers }) => headers["idempotency-replayed"] === "true")).toHaveLength(11);
    expect(await customer.publish({ n: 2 }, key)).toMatchObject({
      status: 409,
      headers: { "x-error-code": "idempotency_conflict" },
    });
    // The same key is another publication for another organization.
    expect((await other.publish({ n: 2 }, key)).body.items).toHaveLength(1);
    await receiver.arrivals(2, { path: webhook.path });
    expect(await acceptedEvents(node, own.account)).toBe(3);
  });

  it("is all or nothing: one target that refuses the payload refuses the publication", async ({
    own,
    node,
    customer,
    receiver,
  }) => {
    const [large, small] = [await customer.webhook(), await customer.webhook({ max_payload_bytes: 10 })];
    const key = { "idempotency-key": "k" };
    const refused = await customer.publish({ text: "more than ten bytes" }, key);
    expect(refused).toMatchObject({ status: 413, body: { error: expect.stringContaining(small.id) } });
    expect(receiver.at(large.path)).toEqual([]);
    expect(await acceptedEvents(node, own.account)).toBe(0);
    await own.call("DELETE", `/api/v1/targets/${small.id}`);
    // The refused publication did not use the key.
    expect((await customer.publish({ text: "more than ten bytes" }, key)).status).toBe(202);
  });

  it("is refused like an item: without a key, for unknown customers and bodies that are not JSON", async ({
    own,
    node,
    customer,
  }) => {
    const foreign = organizationOf(node, await signUp(node), { url: "" });
    expect((await node.call("POST", `/p/${customer.uid}`, { body: {} })).status).toBe(401);
    expect((await node.call("POST", "/p", { body: {}, session: own.account.session_token })).status).toBe(
      403,
    );
    for (const uid of ["nobody", "a%20b", "%00", "x".repeat(200)]) {
      expect((await own.call("POST", `/p/${uid}`, {})).status, uid).toBe(404);
    }
    expect((await foreign.call("POST", `/p/${customer.uid}`, {})).status).toBe(404);
    const nonsense = { "x-correlation-id": "a b" };
    expect((await customer.publish({}, nonsense)).body.error).toContain("X-Correlation-ID");
    const { body } = await customer.publish({});
    for (const path of [`/api/v1/publications/${body.id}`, `/api/v1/publications/${"0".repeat(32)}`]) {
      expect((await foreign.call("GET", path)).status).toBe(404);
      for (const to of ["failed", "added"]) {
        expect((await foreign.call("POST", `${path}/replay`, { to })).status).toBe(404);
      }
    }
    expect(
      (await own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "all" })).body.error,
    ).toContain("to ");
  });

  it("stores its payload once, and uses it for replays of its items", async ({
    own,
    customer,
    node,
    receiver,
  }) => {
    const targets = [await customer.webhook(), await customer.webhook()];
    const { body } = await customer.publish({ text: "stored once" });
    await allAre(own, body.id, "DELIVERED");
    expect(await placesOfText(node.pool, "stored once")).toEqual(["publications.payload"]);
    const [item] = body.items;
    const { path } = targets.find(({ id }) => id === item.target_id)!;
    expect((await own.call("POST", `/api/v1/events/${item.id}/replay`)).status).toBe(202);
    const arrived = await receiver.arrivals(2, { path });
    expect(arrived[1]!.body.toString()).toBe('{"text":"stored once"}');
  });
});

it("shares a row of its target with other items of the same batch, and all of them are delivered", async ({
  own,
  node,
  customer,
  receiver,
}) => {
  const webhooks = [await customer.webhook(), await customer.webhook(), await customer.webhook()];
  const enable = (enabled: boolean) =>
    Promise.all(webhooks.map(({ id }) => own.call("PATCH", `/api/v1/targets/${id}`, { enabled })));
  await enable(false);
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => customer.publish({ n })));
  const idsOf = ({ body }: { body: { items: { id: string }[] } }): string[] => body.items.map(({ id }) => id);
  const targetById = ({ id, target_id: targetId }: { id: string; target_id: string }) =>
    [id, targetId] as const;
  const ids: string[] = answers.flatMap(idsOf);
  expect(new Set(ids).size).toBe(60);
  for (const answer of answers) expect(idsOf(answer)).toEqual(idsOf(answer).toSorted());
  const targetOf = new Map(answers.flatMap(({ body }) => body.items.map(targetById)));
  const rows = await waitingRows(
    node.pool,
    webhooks.map(({ id }) => id),
  );
  expect(rows.flatMap(({ event_ids: waiting }) => waiting).toSorted()).toEqual(ids.toSorted());
  for (const { id, target_id: targetId, event_ids: waiting } of rows) {
    for (const each of waiting) expect(targetOf.get(each)).toBe(targetId);
    expect(waiting).toEqual(waiting.toSorted());
    // A row of several items has an id that is no item's id; a retried item gets a row with its own id.
    expect(ids.includes(id)).toBe(waiting.length === 1);
  }
  expect(rows.length).toBeLessThan(60);
  await enable(true);
  for (const { path } of webhooks) {
    const arrived = await receiver.arrivals(20, { path });
    expect(new Set(arrived.map(({ body }) => body.toString())).size).toBe(20);
  }
});

it("sends its payload with retries, to agents, with redriven dead letters, and with replays of many", async ({
  own,
  node,
  customer,
  receiver,
  agent,
}) => {
  const text = '{"event_type":"a.b","text":"the same bytes"}';
  const webhook = await customer.webhook({ retry_interval_seconds: 1 });
  const mailbox = await customer.mailbox({ max_claims: 1 });
  await createAgentTarget(node, own.account, agent.cardUrl, { customer_uid: customer.uid });
  let failures = 1;
  receiver.answer = (_received, response) => void response.writeHead(failures-- > 0 ? 500 : 200).end();
  const { body } = await customer.publish(JSON.parse(text));
  expect(body.items).toHaveLength(3);
  const [first, second] = await receiver.arrivals(2, { path: webhook.path });
  expect([first!.body.toString(), second!.body.toString()]).toEqual([text, text]);
  await until(
    () => agent.messages(),
    (messages) => JSON.stringify(messages).includes("the same bytes"),
  );
  const claim = () => own.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, {}, { "claim-id": "one" });
  expect((await claim()).body.messages).toMatchObject([{ payload: JSON.parse(text) }]);
  const [{ id, claim_token: token }] = (await claim()).body.messages;
  await own.call("POST", `/api/v1/mailboxes/${mailbox}/reject`, { messages: [{ id, claim_token: token }] });
  expect(await own.statusOf(id)).toBe("DEAD");
  expect((await own.call("POST", `/api/v1/mailboxes/${mailbox}/redrive`, {})).status).toBe(200);
  const taken = await own.call("POST", `/api/v1/mailbox-messages/${id}/claim`);
  expect(taken.body).toMatchObject({ id, payload: JSON.parse(text) });
  const replay = { filter: { target_id: webhook.id, status: "DELIVERED" } };
  await own.settled(
    body.items.find((item: { target_id: string }) => item.target_id === webhook.id).id,
    "DELIVERED",
  );
  expect((await own.call("POST", "/api/v1/replays", replay)).status).toBe(202);
  const arrived = await receiver.arrivals(3, { path: webhook.path });
  expect(arrived[2]!.body.toString()).toBe(text);
});
