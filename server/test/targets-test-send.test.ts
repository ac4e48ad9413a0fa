import { describe, expect } from "vitest";
import { acceptedEvents, createWebhookTarget } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { answerOk, isSignedWith } from "./support/receiver.ts";
import { type Account, type Answer, signUp } from "./support/testNode.ts";
import { organizationOf } from "./support/organization.ts";
import { sharedStartedNodeTest } from "./support/fixtures.ts";
import { aroundNow } from "./support/aroundNow.ts";

// Each test has its own organization, whose rate limit no other test has used.
const it = sharedStartedNodeTest()
  .extend(
    "send",
    ({ node, own }) =>
      (id: string, body?: object, by: Account = own.account): Promise<Answer> =>
        node.call("POST", `/api/v1/targets/${id}/test`, { key: by.api_key, ...(body && { body }) }),
  )
  .extend(
    "readTarget",
    ({ own }) =>
      async (id: string): Promise<unknown> =>
        (await own.call("GET", `/api/v1/targets/${id}`)).body,
  );

describe("a test send", () => {
  it("is a signed delivery marked as a test, and returns the receiver's answer", async ({
    own,
    send,
    receiver,
  }) => {
    receiver.answer = (_received, response) => response.writeHead(201).end("seen");
    const { id, secret, path } = await own.newTarget();
    const answer = await send(id);
    receiver.answer = answerOk;
    expect(answer).toMatchObject({
      status: 200,
      body: {
        event_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        is_test: true,
        delivered: true,
        attempt: {
          status_code: 201,
          duration_ms: expect.any(Number),
          error: null,
          response_body: "seen",
        },
      },
    });
    const [arrived] = await receiver.arrivals(1, { path });
    expect(isSignedWith(secret, arrived!)).toBe(true);
    expect(arrived!.headers).toMatchObject({
      "webhook-id": answer.body.event_id,
      "x-event-type": "postrider.test",
      "x-postrider-test": "true",
    });
    expect(JSON.parse(arrived!.body.toString())).toMatchObject({ test: true, id: answer.body.event_id });
  });

  it("sends the given payload and type, also with a session, and by a legacy endpoint's id", async ({
    own,
    node,
    receiver,
  }) => {
    const made = await node.call("POST", "/api/v1/endpoints", {
      key: own.account.api_key,
      body: { name: "old", url: `${receiver.url}/legacy` },
    });
    const answer = await node.call("POST", `/api/v1/targets/${made.body.id}/test`, {
      session: own.account.session_token,
      body: { event_type: "order.made", payload: { text: "grüße" } },
    });
    expect(answer.body).toMatchObject({ delivered: true });
    const [arrived] = await receiver.arrivals(1, { path: "/legacy" });
    expect(arrived!.body.toString()).toBe('{"text":"grüße"}');
    expect(arrived!.headers["x-event-type"]).toBe("order.made");
    expect(isSignedWith(made.body.secret, arrived!)).toBe(true);
  });

  it("is not an item: nothing is stored, billed, counted or retried", async ({
    own,
    send,
    readTarget,
    node,
    receiver,
  }) => {
    receiver.answer = (_received, response) => response.writeHead(500).end("broken");
    const { id, path } = await own.newTarget();
    const before = await readTarget(id);
    const answer = await send(id);
    receiver.answer = answerOk;
    expect(answer.body).toMatchObject({
      delivered: false,
      attempt: { status_code: 500, error: "receiver answered 500", response_body: "broken" },
    });
    expect((await own.call("GET", `/api/v1/events?target_id=${id}`)).body.events).toEqual([]);
    expect((await own.call("GET", `/api/v1/events/${answer.body.event_id}`)).status).toBe(404);
    expect(await acceptedEvents(node, own.account)).toBe(0);
    const stats = await own.call("GET", `/api/v1/stats?target_id=${id}&${aroundNow()}`);
    expect(stats.body.totals).toMatchObject({ accepted: 0, delivered: 0, retried: 0, failed: 0 });
    const health = await own.call("GET", `/api/v1/targets/${id}/health`);
    expect(health.body).toMatchObject({ failing_since: null, last_attempt_at: null, circuit: "closed" });
    expect(await readTarget(id)).toEqual(before);
    expect(receiver.at(path)).toHaveLength(1);
  });

  it("does not disable a target whose receiver answers 410, and works for a disabled target", async ({
    own,
    send,
    readTarget,
    receiver,
  }) => {
    receiver.answer = (_received, response) => response.writeHead(410).end();
    const { id } = await own.newTarget();
    expect((await send(id)).body).toMatchObject({ delivered: false, attempt: { status_code: 410 } });
    receiver.answer = answerOk;
    expect(await readTarget(id)).toMatchObject({ enabled: true });
    await own.call("PATCH", `/api/v1/targets/${id}`, { enabled: false });
    expect((await send(id)).body).toMatchObject({ delivered: true });
    expect(await readTarget(id)).toMatchObject({ enabled: false });
  });

  it("is subject to the address guard", async ({ own, newNode }) => {
    const { id } = await own.newTarget();
    const strict = newNode({ POSTRIDER_ALLOWED_NETWORKS: "" });
    const answer = await strict.call("POST", `/api/v1/targets/${id}/test`, { key: own.account.api_key });
    expect(answer.body).toMatchObject({ delivered: false, attempt: { status_code: 0 } });
    expect(answer.body.attempt.error).toContain("not allowed");
  });

  it("appears in the built-in tryout receiver", async ({ own, send, node }) => {
    const target = await createWebhookTarget(
      node,
      own.account,
      `https://tryout.postrider.invalid/${"5".repeat(32)}`,
    );
    const { body } = await send(target.id);
    expect(body).toMatchObject({ delivered: true });
    const seen = await own.call("GET", `/api/v1/targets/${target.id}/tryout`);
    expect(JSON.stringify(seen.body)).toContain(body.event_id);
  });
});

describe("a test send is refused", () => {
  it("for a mailbox: 400 with an alternative", async ({ send, node }) => {
    const box = await createMailbox(node);
    const answer = await send(box.id, {}, box.account);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("send an item to the mailbox") },
    });
  });

  it("with a payload larger than the target accepts: 413", async ({ own, send }) => {
    const { id } = await own.newTarget();
    await own.call("PATCH", `/api/v1/targets/${id}`, { max_payload_bytes: 1024 });
    expect((await send(id, { payload: "x".repeat(2000) })).status).toBe(413);
  });

  it("with a number that the receiver would get changed: 400 with its position", async ({
    own,
    send,
    node,
  }) => {
    const { id } = await own.newTarget();
    const answer = await node.service.app.inject({
      method: "POST",
      url: `/api/v1/targets/${id}/test`,
      headers: { authorization: `Bearer ${own.account.api_key}`, "content-type": "application/json" },
      payload: '{"payload": {"order": [{"id": 12345678901234567891}]}}',
    });
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      {
        error:
          "payload.order.0.id is a whole number beyond 9007199254740991, which would be rounded: give it as a string",
      },
    ]);
    expect((await send(id, { payload: { id: 9007199254740992, large: 1e300 } })).status).toBe(200);
  });

  it("beyond ten a minute for a target and thirty for an organization, over all nodes: 429", async ({
    own,
    send,
    node,
    other,
    receiver,
  }) => {
    const { id } = await own.newTarget();

    const key = own.account.api_key;
    const answers = await Promise.all(
      Array.from({ length: 14 }, (_, index) =>
        (index % 2 === 0 ? node : other).call("POST", `/api/v1/targets/${id}/test`, { key }),
      ),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect([refused.length, answers.filter(({ status }) => status === 200).length]).toEqual([4, 10]);
    expect(Number(refused[0]!.headers["retry-after"])).toBeGreaterThan(0);
    const more = await Promise.all(
      ["/a", "/b", "/c"].map((path) => createWebhookTarget(node, own.account, receiver.url + path)),
    );
    const sent: number[] = [];
    for (const target of more) {
      for (let n = 0; n < 10; n++) sent.push((await send(target.id)).status);
    }
    expect(sent.filter((status) => status === 200)).toHaveLength(20);
    expect(sent.slice(20)).toEqual(Array(10).fill(429));
    // Another organization has its own limit.
    const neighbour = organizationOf(node, await signUp(node), receiver);
    expect((await send((await neighbour.newTarget()).id, {}, neighbour.account)).status).toBe(200);
  });
});
