import { describe, expect } from "vitest";
import { acceptedEvents, readEvent, sendItem } from "./support/items.ts";
import { answerOk, type Receiver } from "./support/receiver.ts";
import { type Answer, createTestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import type { Organization } from "./support/organization.ts";

const it = sharedStartedNodeTest().extend(
  "replay",
  file,
  ({ node, account }) =>
    (id: string, body?: object): Promise<Answer> =>
      node.call("POST", `/api/v1/events/${id}/replay`, { key: account.api_key, ...(body && { body }) }),
);

/** Sends an item to a target whose receiver answers 500; resolves once the item has the resulting status. */
async function failing(
  { organization, receiver }: { organization: Organization; receiver: Receiver },
  fields: object,
  status: string,
) {
  receiver.answer = (_received, response) => response.writeHead(500).end();
  const { id: targetId } = await organization.newTarget({ ...fields });
  const source = await organization.send(targetId);
  await organization.settled(source, status);
  return { targetId, source };
}

describe("a replay", () => {
  it("delivers the same bytes as a new event that points to its source, and bills nothing", async ({
    organization,
    node,
    replay,
    receiver,
  }) => {
    const { id: targetId, path } = await organization.newTarget();
    const headers = { "x-correlation-id": "order-7" };
    const body = { event_type: "order.made", text: "grüße" };
    const key = organization.account.api_key;
    const { id: source } = (await node.call("POST", `/t/${targetId}`, { key, body, headers })).body;
    const before = await organization.settled(source, "DELIVERED");
    const billed = await acceptedEvents(node, organization.account);

    const answer = await replay(source);
    expect(answer).toMatchObject({ status: 202 });
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: "QUEUED",
      source_event_id: source,
    });
    const { id } = answer.body;
    const [first, second] = await receiver.arrivals(2, { path });
    expect(second!.body.equals(first!.body)).toBe(true);
    // The receiver deduplicates by webhook-id, so a replay has the id of the original event.
    expect([first!.id, second!.id]).toEqual([source, source]);
    expect([first!.headers["x-event-id"], second!.headers["x-event-id"]]).toEqual([source, id]);
    expect(second!.headers).toMatchObject({
      "x-event-type": "order.made",
      "x-correlation-id": "order-7",
      "x-source-event-id": source,
    });
    expect(first!.headers).not.toHaveProperty("x-source-event-id");
    expect((await organization.settled(id, "DELIVERED")).event).toMatchObject({
      is_replay: 1,
      source_event_id: source,
      webhook_id: source,
      event_type: "order.made",
      correlation_id: "order-7",
      endpoint_id: targetId,
    });
    const replayed_by = { id, status: "DELIVERED", created_at: expect.any(Number) };
    expect(await organization.read(source)).toEqual({ ...before, event: { ...before.event, replayed_by } });
    expect(await acceptedEvents(node, organization.account)).toBe(billed);
  });

  it("of a replay names the replayed event as its source", async ({ organization, replay, receiver }) => {
    const { id: targetId, path } = await organization.newTarget();
    const first = await organization.send(targetId);
    await organization.settled(first, "DELIVERED");
    const second = (await replay(first)).body.id;
    await organization.settled(second, "DELIVERED");
    const third = await replay(second);
    expect(third.body.source_event_id).toBe(second);
    const arrived = await receiver.arrivals(3, { path });
    expect(arrived.map(({ headers }) => headers["x-source-event-id"])).toEqual([undefined, first, second]);
    expect(new Set([first, second, third.body.id]).size).toBe(3);
    // The webhook-id of the original event is kept through replays of replays.
    expect(arrived.map(({ id }) => id)).toEqual([first, first, first]);
    expect(arrived.map(({ headers }) => headers["x-event-id"])).toEqual([first, second, third.body.id]);
  });

  it("has a webhook-id of its own when the body asks for one, and so have its replays", async ({
    organization,
    replay,
    receiver,
  }) => {
    const { id: targetId, path } = await organization.newTarget();
    const first = await organization.send(targetId);
    await organization.settled(first, "DELIVERED");
    const second = (await replay(first, { webhook_id: "new" })).body.id;
    expect((await organization.settled(second, "DELIVERED")).event.webhook_id).toBe(second);
    await organization.settled((await replay(second, {})).body.id, "DELIVERED");
    const arrived = await receiver.arrivals(3, { path });
    expect(arrived.map(({ id }) => id)).toEqual([first, second, second]);
    expect((await replay(first, { webhook_id: "old" })).status).toBe(400);
  });

  it("is shown at its source event with its status: the latest replay, or a replay of that replay", async ({
    organization,
    node,
    replay,
    receiver,
  }) => {
    const { targetId, source } = await failing({ organization, receiver }, { max_retries: 0 }, "FAILED");
    expect((await organization.read(source)).event.replayed_by).toBeNull();
    const second = (await replay(source)).body.id;
    await organization.settled(second, "FAILED");
    const latest = async () => (await organization.read(source)).event.replayed_by;
    expect(await latest()).toMatchObject({ id: second, status: "FAILED" });
    receiver.answer = answerOk;
    const third = (await replay(second)).body.id;
    await organization.settled(third, "DELIVERED");
    expect(await latest()).toMatchObject({ id: third, status: "DELIVERED" });
    const list = `/api/v1/events?target_id=${targetId}&order=asc&fields=replayed_by`;
    const { events } = (await node.call("GET", list, { key: organization.account.api_key })).body;
    expect(events.map((event: { replayed_by: { id: string } | null }) => event.replayed_by?.id)).toEqual([
      third,
      third,
      undefined,
    ]);
  });

  it("of a failed event gets the full retry schedule again, with the target's current settings", async ({
    organization,
    receiver,
    node,
    replay,
  }) => {
    const { targetId, source } = await failing({ organization, receiver }, { max_retries: 0 }, "FAILED");
    const change = { key: organization.account.api_key, body: { max_retries: 5, retry_interval_seconds: 1 } };
    await node.call("PATCH", `/api/v1/targets/${targetId}`, change);
    const { id } = (await replay(source)).body;
    expect((await organization.settled(id, "RETRYING")).event.max_retries).toBe(5);
    receiver.answer = answerOk;
    await organization.settled(id, "DELIVERED");
    expect((await organization.read(source)).event.status).toBe("FAILED");
  });

  it("of a filtered event is delivered, because it was requested", async ({ organization, replay }) => {
    const { id: targetId } = await organization.newTarget({ event_types: ["a"] });
    const source = await organization.send(targetId, { event_type: "b" });
    await organization.settled((await replay(source)).body.id, "DELIVERED");
    expect((await organization.read(source)).event.status).toBe("FILTERED");
  });

  it("to a deleted target is answered with 409, and creates no event", async ({
    organization,
    node,
    replay,
  }) => {
    const { id: targetId } = await organization.newTarget();
    const source = await organization.send(targetId);
    await organization.settled(source, "DELIVERED");
    const key = organization.account.api_key;
    await node.call("DELETE", `/api/v1/targets/${targetId}`, { key });
    expect(await replay(source)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("deleted") },
      headers: { "x-error-code": "target_deleted" },
    });
    const { body } = await node.call("GET", `/api/v1/events?target_id=${targetId}`, { key });
    expect(body.events.map((event: { id: string }) => event.id)).toEqual([source]);
  });

  it("names its source on every attempt", async ({ organization, receiver, replay }) => {
    const { id: targetId, path } = await organization.newTarget({ retry_interval_seconds: 1 });
    const source = await organization.send(targetId);
    await organization.settled(source, "DELIVERED");
    receiver.answer = (_received, response) => response.writeHead(500).end();
    await replay(source);
    const arrived = await receiver.arrivals(3, { path });
    receiver.answer = answerOk;
    expect(arrived.slice(1).map(({ headers }) => headers["x-source-event-id"])).toEqual([source, source]);
  });

  it("of an event that still waits is answered with 409 and what the event waits for, and creates no event", async ({
    organization,
    receiver,
    node,
    replay,
  }) => {
    const { targetId, source } = await failing(
      { organization, receiver },
      { retry_interval_seconds: 3600 },
      "RETRYING",
    );
    receiver.answer = answerOk;
    const refused = await replay(source);
    expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "still_retrying"]);
    expect(refused.body.error).toMatch(
      /^the event is still RETRYING: its next attempt is due at \d{4}-\d\d-\d\dT/,
    );
    const key = organization.account.api_key;
    await node.call("PATCH", `/api/v1/targets/${targetId}`, { key, body: { enabled: false } });
    const held = await organization.send(targetId);
    for (const id of [source, held]) {
      expect((await replay(id)).body.error).toContain("or its target is disabled");
    }
    expect((await replay(held)).headers["x-error-code"]).toBe("still_queued");
    const { body } = await node.call("GET", `/api/v1/events?target_id=${targetId}`, { key });
    expect(body.events.map((event: { id: string }) => event.id)).toEqual([held, source]);
  });

  it("of a mailbox item is a new message", async ({ organization, node, replay }) => {
    const key = organization.account.api_key;
    const mailbox = { kind: "mailbox", name: "inbox" };
    const { id: mailboxId } = (await node.call("POST", "/api/v1/targets", { key, body: mailbox })).body;
    const source = await organization.send(mailboxId, { n: 1 });
    await node.call("POST", `/api/v1/mailbox-messages/${source}/claim`, { key });
    await node.call("POST", `/api/v1/mailbox-messages/${source}/ack`, { key });
    const billed = await acceptedEvents(node, organization.account);
    const answer = await replay(source);
    expect(answer).toMatchObject({ status: 202, body: { status: "UNREAD", source_event_id: source } });
    const message = await node.call("GET", `/api/v1/mailbox-messages/${answer.body.id}`, { key });
    expect(message).toMatchObject({ status: 200, body: { payload: { n: 1 }, status: "UNREAD" } });
    const claim = await node.call("POST", `/api/v1/mailbox-messages/${answer.body.id}/claim`, { key });
    expect(claim.status).toBe(200);
    expect((await organization.read(source)).event.status).toBe("ACKNOWLEDGED");
    expect(await acceptedEvents(node, organization.account)).toBe(billed);
  });
});

describe("an expired mailbox message", () => {
  it("is not replayed, because its payload is deleted", async ({ organization, database }) => {
    const short = createTestNode(database, { POSTRIDER_MAILBOX_RETENTION_SECONDS: "1" });
    try {
      const key = organization.account.api_key;
      const mailbox = { kind: "mailbox", name: "inbox" };
      const { id: mailboxId } = (await short.call("POST", "/api/v1/targets", { key, body: mailbox })).body;
      const source = await sendItem(short, organization.account, mailboxId);
      await until(
        () => readEvent(short, organization.account, source),
        ({ event }) => event.status === "EXPIRED",
      );
      const answer = await short.call("POST", `/api/v1/events/${source}/replay`, { key });
      expect(answer).toMatchObject({ status: 409, body: { error: expect.stringContaining("expired") } });
    } finally {
      await short.stop();
    }
  });
});
