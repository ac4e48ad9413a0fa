import { describe, expect, onTestFinished } from "vitest";
import { createAgentTarget } from "./support/agentTargets.ts";
import { answerJson, startCardServer, wholeCard } from "./support/cardServer.ts";
import { openEventStream } from "./support/eventStream.ts";
import { acceptedEvents, sendItems } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { answerOk } from "./support/receiver.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { aroundNow } from "./support/aroundNow.ts";
import { inTransaction } from "../src/postgres/pool.ts";
import { untilWaiting } from "./support/untilWaiting.ts";
import { lockKey, unpark } from "./support/messageSteps.ts";

const it = sharedStartedNodeTest()
  .extend(
    "cancel",
    file,
    ({ call }) =>
      (id: string): Promise<Answer> =>
        call("POST", `/api/v1/events/${id}/cancel`),
  )
  .extend(
    "setEnabled",
    file,
    ({ call }) =>
      (id: string, enabled: boolean): Promise<Answer> =>
        call("PATCH", `/api/v1/targets/${id}`, { enabled }),
  );

function refusalOf({ status, headers }: Answer): unknown {
  return [status, headers["x-error-code"]];
}

describe("an event that waits", () => {
  it("alone or in a row with others is canceled, and the others are delivered", async ({
    organization,
    setEnabled,
    node,
    cancel,
    receiver,
  }) => {
    const { id: targetId, path } = await organization.newTarget();
    await setEnabled(targetId, false);
    const ids = await sendItems(node, organization.account, targetId, 40);
    const billed = await acceptedEvents(node, organization.account);
    const canceled = ids.filter((_id, index) => index % 3 === 0);
    for (const id of canceled) {
      expect(await cancel(id)).toMatchObject({ status: 200, body: { id, status: "CANCELED" } });
      expect(await organization.statusOf(id)).toBe("CANCELED");
    }
    expect((await organization.call("GET", `/api/v1/targets/${targetId}/health`)).body.held).toBe(
      40 - canceled.length,
    );
    expect((await setEnabled(targetId, true)).body.held_items).toBe(40 - canceled.length);
    const arrived = await receiver.arrivals(40 - canceled.length, { path });
    const others = ids.filter((id) => !canceled.includes(id));
    expect(arrived.map(({ id }) => id).sort()).toEqual(others.sort());
    const listed = await organization.call("GET", `/api/v1/events?target_id=${targetId}&status=CANCELED`);
    const shown = listed.body.events.map(({ id }: { id: string }) => id);
    expect(shown.sort()).toEqual(canceled.sort());
    expect(await acceptedEvents(node, organization.account)).toBe(billed);
  });

  it("for its retry is canceled, and keeps its attempts", async ({ organization, receiver, cancel }) => {
    receiver.answer = (_received, response) => response.writeHead(500).end();
    const { id: targetId } = await organization.newTarget({ retry_interval_seconds: 3600 });
    const id = await organization.send(targetId);
    await until(
      () => organization.statusOf(id),
      (status) => status === "RETRYING",
    );
    receiver.answer = answerOk;
    expect((await cancel(id)).status).toBe(200);
    const { event, delivery_attempts: attempts } = await organization.read(id);
    expect(event).toMatchObject({ status: "CANCELED", next_attempt_at: null, held: false });
    expect(attempts).toHaveLength(1);
    expect((await organization.call("POST", `/api/v1/events/${id}/replay`)).status).toBe(202);
  });

  it("changes no statistics when it is canceled", async ({ organization, setEnabled, cancel }) => {
    const { id: targetId } = await organization.newTarget();
    await setEnabled(targetId, false);
    const id = await organization.send(targetId);
    await cancel(id);
    const { body } = await organization.call("GET", `/api/v1/stats?target_id=${targetId}&${aroundNow()}`);
    expect(body.totals).toMatchObject({ accepted: 1, delivered: 0, retried: 0, failed: 0 });
  });

  it("is reported by the stream when it is canceled", async ({ organization, url, setEnabled, cancel }) => {
    const stream = await openEventStream(url, { authorization: `Bearer ${organization.account.api_key}` });
    onTestFinished(() => stream.close());
    const { id: targetId } = await organization.newTarget();
    await setEnabled(targetId, false);
    const id = await organization.send(targetId, { event_type: "order.made" });
    await cancel(id);
    const told = await stream.next(
      ({ event, data }) => event === "item" && data.id === id && data.status === "CANCELED",
    );
    expect(told.data).toMatchObject({ target_id: targetId, event_type: "order.made" });
  });
});

describe("an event is not canceled", () => {
  it("after it has ended: 409, and it stays unchanged", async ({ organization, cancel }) => {
    const { id: targetId } = await organization.newTarget();
    const id = await organization.send(targetId);
    await until(
      () => organization.statusOf(id),
      (status) => status === "DELIVERED",
    );
    const refused = await cancel(id);
    expect(refusalOf(refused)).toEqual([409, "event_ended"]);
    expect(refused.body.error).toContain("DELIVERED");
    expect(await organization.statusOf(id)).toBe("DELIVERED");
  });

  it("twice", async ({ organization, setEnabled, cancel }) => {
    const { id: targetId } = await organization.newTarget();
    await setEnabled(targetId, false);
    const id = await organization.send(targetId);
    const answers = await Promise.all([cancel(id), cancel(id), cancel(id)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
    expect(refusalOf(await cancel(id))).toEqual([409, "event_ended"]);
  });

  it("while it is being sent: 409, and it is delivered", async ({ organization, receiver, cancel }) => {
    let release: (() => void) | undefined;
    receiver.answer = (received, response) => {
      release = () => answerOk(received, response);
    };
    const { id: targetId, path } = await organization.newTarget();
    const id = await organization.send(targetId);
    await receiver.arrivals(1, { path });
    expect(refusalOf(await cancel(id))).toEqual([409, "being_sent"]);
    receiver.answer = answerOk;
    release!();
    await until(
      () => organization.statusOf(id),
      (status) => status === "DELIVERED",
    );
  });

  it("of another organization: 404", async ({ organization, setEnabled, node }) => {
    const { id: targetId } = await organization.newTarget();
    await setEnabled(targetId, false);
    const id = await organization.send(targetId);
    const { api_key: key } = await signUp(node);
    expect((await node.call("POST", `/api/v1/events/${id}/cancel`, { key })).status).toBe(404);
    expect(await organization.statusOf(id)).toBe("QUEUED");
  });
});

describe("a handoff", () => {
  it("that was not sent is canceled; one whose message may have arrived is not", async ({
    organization,
    receiver,
    node,
    cancel,
    setEnabled,
  }) => {
    const cards = await startCardServer();
    onTestFinished(() => cards.stop());
    cards.answer = (response) => answerJson(response, wholeCard(`${receiver.url}/a2a`));
    receiver.answer = (_received, response) => response.destroy();
    const id = await createAgentTarget(node, organization.account, cards.url, {
      retry_interval_seconds: 3600,
    });
    const sent = await organization.send(id, "anything");
    await until(
      () => organization.statusOf(sent),
      (status) => status === "RETRYING",
    );
    receiver.answer = answerOk;
    expect(refusalOf(await cancel(sent))).toEqual([409, "task_begun"]);
    expect(await organization.statusOf(sent)).toBe("RETRYING");
    await setEnabled(id, false);
    const held = await organization.send(id, "anything");
    expect((await cancel(held)).status).toBe(200);
    expect(await organization.statusOf(held)).toBe("CANCELED");
    const test = await organization.call("POST", `/api/v1/targets/${id}/test`);
    expect(test).toMatchObject({ status: 400, body: { error: expect.stringContaining("refresh") } });
  });
});

describe("a mailbox's message", () => {
  it("that nobody has claimed is removed when canceled, and no longer counted by the mailbox", async ({
    organization,
    node,
    cancel,
  }) => {
    const box = await createMailbox(node, {}, organization.account);
    const [first, second] = [await box.send({ n: 1 }), await box.send({ n: 2 })];
    expect(await cancel(first)).toMatchObject({ status: 200, body: { status: "CANCELED" } });
    expect(await organization.statusOf(first)).toBe("CANCELED");
    expect(await box.stats()).toMatchObject({ ready: 1 });
    expect((await box.one(first, "claim")).status).toBe(409);
    expect((await box.read(first)).status).toBe(404);
    const { messages } = (await box.post("claim", { max: 10 })).body;
    expect(messages.map(({ id }: { id: string }) => id)).toEqual([second]);
    expect(refusalOf(await cancel(second))).toEqual([409, "message_claimed"]);
    expect((await box.one(second, "ack")).status).toBe(200);
    expect(refusalOf(await cancel(second))).toEqual([409, "event_ended"]);
  });

  it("frees its ordering key when canceled", async ({ organization, node, cancel }) => {
    const box = await createMailbox(node, {}, organization.account);
    const key = { "x-ordering-key": "one" };
    const ids = [await box.send({ n: 1 }, key), await box.send({ n: 2 }, key)];
    const claim = async (): Promise<{ id: string; claim_token: string }[]> =>
      (await box.post("claim", { max: 10 })).body.messages;
    // The claim finds the second message blocked by the first, and parks it.
    const [claimed, ...others] = await claim();
    expect([claimed!.id, others]).toEqual([ids[0], []]);
    await box.post("release", { messages: [{ id: claimed!.id, claim_token: claimed!.claim_token }] });
    expect((await cancel(ids[0]!)).status).toBe(200);
    expect((await claim()).map(({ id }) => id)).toEqual([ids[1]]);
  });

  it("waits for its ordering key without holding a lock when canceled, so that consumers of the key continue", async ({
    organization,
    node,
    cancel,
  }) => {
    const box = await createMailbox(node, {}, organization.account);
    const key = { "x-ordering-key": "one" };
    const [first, second] = [await box.send({ n: 1 }, key), await box.send({ n: 2 }, key)];
    // The claim parks the second message behind the first.
    const { messages } = (await box.post("claim", { max: 10 })).body;
    expect(messages.map(({ id }: { id: string }) => id)).toEqual([first]);
    const cell = node.cellPool(organization.account.user.org_id);
    const canceled = await inTransaction(cell, async (client) => {
      // The steps of acknowledging the first message.
      await lockKey(client, box.id, "one");
      const answer = cancel(second);
      await untilWaiting(cell, "cancel_event");
      await unpark(client, second);
      return { answer };
    });
    expect(await canceled.answer).toMatchObject({ status: 200, body: { status: "CANCELED" } });
    expect((await box.one(first, "ack")).status).toBe(200);
    expect((await box.post("claim", { max: 10 })).body.messages).toEqual([]);
  });
});
