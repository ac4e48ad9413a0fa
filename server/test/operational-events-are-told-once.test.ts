import { describe, expect } from "vitest";
import { Webhook } from "standardwebhooks";
import { createAgentTarget } from "./support/agentTargets.ts";
import { createTestDatabase } from "./support/database.ts";
import {
  acceptedEvents,
  createMailboxTarget,
  createWebhookTarget,
  sendItem,
  sendItems,
} from "./support/items.ts";
import { createMailbox, type TestMailbox } from "./support/mailbox.ts";
import { startService } from "./support/serviceProcess.ts";
import { type Account, type Answer, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";
import { setFailingFor } from "./support/storedStates.ts";
import { endPaces } from "./support/passedTime.ts";
import { countNotedEvents, countRows } from "./support/unseenRows.ts";

/* Operational events reach the organization's notification targets once, and cause no further events in a loop. */

const it = startedNodeTest()
  .extend(
    "listen",
    file,
    ({ node }) =>
      (account: Account, targetId: string, eventTypes?: string[]): Promise<Answer> =>
        node.call("POST", "/api/v1/notification-targets", {
          key: account.api_key,
          body: { target_id: targetId, ...(eventTypes && { event_types: eventTypes }) },
        }),
  )
  /** A mailbox that is notified of every operational event, with its account. */
  .extend("listeningMailbox", file, ({ node, listen }) => async (account?: Account): Promise<TestMailbox> => {
    const box = await createMailbox(node, {}, account);
    expect((await listen(box.account, box.id)).status).toBe(200);
    return box;
  })
  /** A mailbox for each test. */
  .extend("box", ({ listeningMailbox }) => listeningMailbox())
  /** Waits until every recorded operational event has been sent or discarded. */
  .extend("untilNothingIsNoted", file, ({ node }) => async (): Promise<void> => {
    await until(
      async () => {
        await endPaces(node.pool);
        return countRows(node.pool, "operational_events");
      },
      (count) => count === 0,
    );
  });

/**
 * The receiver answers with the status at the start of the path, or 200; below `/half` it fails every second item.
 */
it.beforeAll(({ receiver }) => {
  receiver.answer = ({ path, body }, response) => {
    // Ten failures in a row would open the circuit.
    const isHalf = path === "/half" && (JSON.parse(String(body)) as { number: number }).number % 2 === 0;
    response.writeHead(isHalf ? 500 : Number(/^\/(\d{3})/.exec(path)?.[1] ?? "200")).end();
  };
});

interface Told {
  event_type: string;
  target_id: string;
  count: number;
  event_ids: string[];
  reason: string | null;
}

/** Claims and acknowledges all notifications in a mailbox, and returns them. */
async function takeTold(box: TestMailbox): Promise<Told[]> {
  const { body } = await box.post("claim", { max: 100 });
  if (body.messages.length > 0) await box.post("ack", { messages: body.messages });
  return body.messages.map(({ payload }: { payload: Told }) => payload);
}

async function untilTold(box: TestMailbox, count: number): Promise<Told[]> {
  const told: Told[] = [];
  await until(
    async () => told.push(...(await takeTold(box))),
    (length) => length >= count,
  );
  return told;
}

describe("an organization with notification targets is notified", () => {
  it("of a target that is disabled and enabled, by signed items that are free", async ({
    own: { account },
    node,
    receiver,
    listen,
  }) => {
    const listener = await createWebhookTarget(node, account, `${receiver.url}/ops`);
    await listen(account, listener.id, ["target.disabled", "target.recovered"]);
    const gone = await createWebhookTarget(node, account, `${receiver.url}/410`, { name: "gone" });
    const id = await sendItem(node, account, gone.id);
    const before = await acceptedEvents(node, account);
    const [disabled] = await receiver.arrivals(1, { path: "/ops" });
    const payload = new Webhook(listener.secret).verify(
      disabled!.body,
      disabled!.headers as Record<string, string>,
    );
    expect(payload).toMatchObject({
      event_type: "target.disabled",
      target_id: gone.id,
      target_name: "gone",
      target_kind: "webhook",
      reason: "the receiver answered 410 Gone",
      event_ids: [id],
    });
    expect(disabled!.headers["x-event-type"]).toBe("target.disabled");
    const key = account.api_key;
    const listed = await node.call("GET", "/api/v1/events?event_type=target.disabled", { key });
    expect(listed.body.events).toMatchObject([{ id: disabled!.id, endpoint_id: listener.id }]);
    await node.call("PATCH", `/api/v1/targets/${gone.id}`, { key, body: { enabled: true } });
    const [, recovered] = await receiver.arrivals(2, { path: "/ops" });
    expect(JSON.parse(String(recovered!.body))).toMatchObject({
      event_type: "target.recovered",
      target_id: gone.id,
      reason: "it was enabled",
      event_ids: [],
    });
    expect(await acceptedEvents(node, account)).toBe(before);
  });

  it("of a target that recovers after more than five minutes, not of a shorter failure", async ({
    box,
    node,
    receiver,
    untilNothingIsNoted,
  }) => {
    const target = await createWebhookTarget(node, box.account, `${receiver.url}/again`);
    const failing = async (): Promise<number | null> =>
      (await node.call("GET", `/api/v1/targets/${target.id}`, { key: box.account.api_key })).body
        .failing_since ?? null;
    for (const [since, count] of [
      [60, 0],
      [400, 1],
    ] as const) {
      await setFailingFor(node.pool, target.id, since);
      await sendItem(node, box.account, target.id);
      await until(failing, (value) => value === null);
      await untilNothingIsNoted();
      expect(await takeTold(box)).toMatchObject(
        Array.from({ length: count }, () => ({ event_type: "target.recovered", target_id: target.id })),
      );
    }
  });

  it("of many failed events in a few items that count them", async ({
    box,
    node,
    receiver,
    untilNothingIsNoted,
  }) => {
    const target = await createWebhookTarget(node, box.account, `${receiver.url}/half`, { max_retries: 0 });
    const ids = await sendItems(node, box.account, target.id, 80);
    const first = await untilTold(box, 1);
    await until(
      async () =>
        (await node.call("GET", "/api/v1/events?status=FAILED&limit=100", { key: box.account.api_key })).body
          .events.length,
      (count) => count === 40,
    );
    await untilNothingIsNoted();
    const told = [...first, ...(await takeTold(box))];
    expect(told.reduce((sum, { count }) => sum + count, 0)).toBe(40);
    expect(told.length).toBeLessThan(10);
    for (const one of told) {
      expect(one).toMatchObject({ event_type: "event.failed", target_id: target.id });
      expect(one.event_ids.length).toBe(Math.min(one.count, 10));
      for (const id of one.event_ids) expect(ids).toContain(id);
    }
    const more = await sendItems(node, box.account, target.id, 6);
    await until(
      () => countNotedEvents(node.pool),
      (count) => count === 3,
    );
    expect(await takeTold(box)).toEqual([]);
    await endPaces(node.pool);
    const [last] = await untilTold(box, 1);
    expect(last!.count).toBe(3);
    for (const id of last!.event_ids) expect(more).toContain(id);
  });

  it.for(["rejected", "claimed too often", "rejected by hand"])(
    "of a message that is dead because it was %s",
    async (how, { box, node }) => {
      const jobs = await createMailbox(node, { max_claims: 1 }, box.account);
      const id = await jobs.send({});
      if (how === "rejected by hand") {
        await node.call("POST", `/api/v1/mailboxes/${jobs.id}/messages/${id}/force-reject`, {
          session: box.account.session_token,
          body: { reason: "no" },
        });
      } else {
        const { body } = await jobs.post("claim", {});
        await jobs.post(how === "rejected" ? "reject" : "release", { messages: body.messages });
      }
      expect(await untilTold(box, 1)).toMatchObject([
        { event_type: "mailbox.message_dead", target_id: jobs.id, count: 1, event_ids: [id] },
      ]);
    },
  );

  it("of an agent that waits for input", async ({ box, node, agent }) => {
    const target = await createAgentTarget(node, box.account, agent.cardUrl);
    const id = await sendItem(node, box.account, target, "input");
    expect(await untilTold(box, 1)).toMatchObject([
      { event_type: "handoff.input_required", target_id: target, event_ids: [id] },
    ]);
  });

  it("of the requested event types at each target, and of nothing once they are removed", async ({
    box,
    node,
    listen,
    receiver,
  }) => {
    const { account } = box;
    const other = await createMailbox(node, {}, account);
    const named = await listen(account, other.id, ["event.failed"]);
    const again = await listen(account, other.id, ["target.recovered"]);
    expect(again.body).toEqual({ ...named.body, event_types: ["target.recovered"] });
    const key = account.api_key;
    const target = await createWebhookTarget(node, account, `${receiver.url}/410`);
    await sendItem(node, account, target.id);
    const types = (await untilTold(box, 2)).map(({ event_type: type }) => type).toSorted();
    expect(types).toEqual(["event.failed", "target.disabled"]);
    expect(await takeTold(other)).toEqual([]);
    const { body } = await node.call("GET", "/api/v1/notification-targets?limit=1", { key });
    expect(body.notification_targets).toEqual([again.body]);
    const path = `/api/v1/notification-targets/${again.body.id}`;
    expect(await node.call("DELETE", path, { key })).toMatchObject({ status: 200, body: { deleted: true } });
    expect((await node.call("DELETE", path, { key })).status).toBe(404);
    await node.call("PATCH", `/api/v1/targets/${target.id}`, { key, body: { enabled: true } });
    await untilTold(box, 1);
    expect(await takeTold(other)).toEqual([]);
  });
});

describe("there is no notification loop", () => {
  it("when operational events fail themselves, or disable their notification target", async ({
    box,
    node,
    receiver,
    listen,
    untilNothingIsNoted,
  }) => {
    const { account } = box;
    const key = account.api_key;
    const broken = await createWebhookTarget(node, account, `${receiver.url}/500/ops`, { max_retries: 0 });
    const leaving = await createWebhookTarget(node, account, `${receiver.url}/410/ops`);
    for (const { id } of [broken, leaving]) await listen(account, id);
    const target = await createWebhookTarget(node, account, `${receiver.url}/500`, { max_retries: 0 });
    const id = await sendItem(node, account, target.id);
    await until(
      async () =>
        (await node.call("GET", "/api/v1/events?event_type=event.failed&status=FAILED", { key })).body.events
          .length,
      (count) => count === 2,
    );
    await until(
      async () => (await node.call("GET", `/api/v1/targets/${leaving.id}`, { key })).body.enabled,
      (isEnabled) => isEnabled === false,
    );
    await untilNothingIsNoted();
    expect(await takeTold(box)).toMatchObject([{ event_type: "event.failed", event_ids: [id] }]);
    const { body } = await node.call("GET", "/api/v1/events?limit=100", { key });
    expect(body.events).toHaveLength(4);
  });

  it("when a notification message is rejected, or replayed and rejected", async ({
    box,
    listeningMailbox,
    node,
    receiver,
    untilNothingIsNoted,
  }) => {
    const other = await listeningMailbox(box.account);
    const target = await createWebhookTarget(node, box.account, `${receiver.url}/500`, { max_retries: 0 });
    await sendItem(node, box.account, target.id);
    await untilTold(other, 1);
    const rejectAll = async (): Promise<string> => {
      const { messages } = (await box.post("claim", { max: 10, wait_seconds: 10 })).body;
      expect(messages).toHaveLength(1);
      await box.post("reject", { messages });
      return messages[0].id;
    };
    const id = await rejectAll();
    await node.call("POST", `/api/v1/events/${id}/replay`, { key: box.account.api_key });
    await rejectAll();
    await untilNothingIsNoted();
    expect(await takeTold(other)).toEqual([]);
  });

  it("when a target that subscribes to everything fails: it is not notified about itself", async ({
    own: { account },
    node,
    receiver,
    listen,
    untilNothingIsNoted,
  }) => {
    const target = await createWebhookTarget(node, account, `${receiver.url}/410/own`);
    await listen(account, target.id);
    await sendItem(node, account, target.id);
    const key = account.api_key;
    await until(
      async () => (await node.call("GET", `/api/v1/targets/${target.id}`, { key })).body.enabled,
      (isEnabled) => isEnabled === false,
    );
    await untilNothingIsNoted();
    expect((await node.call("GET", "/api/v1/events", { key })).body.events).toHaveLength(1);
  });
});

describe("a recorded operational event", () => {
  it("is sent once although its process is killed before sending, and several processes send simultaneously", async ({
    receiver,
  }) => {
    const own = await createTestDatabase();
    try {
      const sender = await startService({
        storage: { databaseUrl: own.url },
        env: { POSTRIDER_ROLES: "api,dispatcher" },
      });
      const account = await signUp(sender);
      const key = account.api_key;
      const mailboxId = await createMailboxTarget(sender, account);
      await sender.call("POST", "/api/v1/notification-targets", { key, body: { target_id: mailboxId } });
      const target = await createWebhookTarget(sender, account, `${receiver.url}/half`, { max_retries: 0 });
      const ids = await sendItems(sender, account, target.id, 50);
      const failed = async (): Promise<number> =>
        (await sender.call("GET", "/api/v1/events?status=FAILED&limit=100", { key })).body.events.length;
      await until(failed, (count) => count === ids.length / 2);
      sender.kill("SIGKILL");
      await sender.ended;
      const tellers = await Promise.all(
        [1, 2].map(() => startService({ storage: { databaseUrl: own.url } })),
      );
      const messages = await until(
        async () =>
          (await tellers[0]!.call("GET", `/api/v1/mailboxes/${mailboxId}/messages`, { key })).body.messages,
        (list) => list.length > 0,
      );
      expect(messages).toHaveLength(1);
      const read = await tellers[1]!.call("GET", `/api/v1/mailbox-messages/${messages[0].id}`, { key });
      expect(read.body.payload).toMatchObject({ event_type: "event.failed", count: ids.length / 2 });
      await Promise.all(tellers.map((teller) => teller.stop()));
    } finally {
      await own.drop();
    }
  });

  it("is not written while there is no subscriber", async ({ own: { account }, node, receiver }) => {
    const target = await createWebhookTarget(node, account, `${receiver.url}/410`, { max_retries: 0 });
    await sendItem(node, account, target.id);
    await until(
      async () =>
        (await node.call("GET", "/api/v1/events?status=FAILED", { key: account.api_key })).body.events.length,
      (count) => count === 1,
    );
    expect(await countRows(node.pool, "operational_events", { org_id: account.user.org_id })).toBe(0);
  });
});

it("agents, other organizations' targets and too many targets are refused", async ({
  own: { account },
  node,
  agent,
  listen,
}) => {
  const agentTarget = await createAgentTarget(node, account, agent.cardUrl);
  const stranger = await createMailbox(node);
  expect((await listen(account, agentTarget)).status).toBe(400);
  for (const id of [stranger.id, "0".repeat(32), "x"]) expect((await listen(account, id)).status).toBe(404);
  const boxes = await Promise.all(Array.from({ length: 12 }, () => createMailbox(node, {}, account)));
  const answers = await Promise.all(boxes.map(({ id }) => listen(account, id)));
  expect(answers.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(2);
  for (const types of [[], ["nonsense"], ["event.failed", "event.failed"]]) {
    expect((await listen(account, boxes[0]!.id, types)).status).toBe(400);
  }
});
