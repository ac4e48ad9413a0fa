import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { acceptedEvents, createWebhookTarget, type WebhookTarget } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { answerOk, isSignedWith, type Receiver, startReceiver } from "./support/receiver.ts";
import { type Account, type Answer, createTestNode, signUp, type TestNode } from "./support/testNode.ts";

let database: TestDatabase;
let receiver: Receiver;
let node: TestNode;
let account: Account;

const env = { POSTRIDER_ALLOW_HTTP_TARGETS: "true", POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8" };

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  node = createTestNode(database, env);
  node.service.start();
  account = await signUp(node);
});

afterAll(async () => {
  await node?.stop();
  await receiver?.stop();
  await database?.drop();
});

function test(id: string, body?: object, by: Account = account): Promise<Answer> {
  return node.call("POST", `/api/v1/targets/${id}/test`, { key: by.api_key, ...(body && { body }) });
}

/** A range of statistics that no full minute ends. */
function aroundNow(): string {
  const now = Math.floor(Date.now() / 1000);
  return `from=${now - 3600}&to=${now + 3600}`;
}

let count = 0;

/** In a workspace of its own, whose limit no other test has used. */
async function newTarget(): Promise<WebhookTarget & { path: string }> {
  account = await signUp(node);
  const path = `/test-${++count}`;
  return { ...(await createWebhookTarget(node, account, receiver.url + path)), path };
}

async function readTarget(id: string): Promise<unknown> {
  return (await node.call("GET", `/api/v1/targets/${id}`, { key: account.api_key })).body;
}

describe("a test", () => {
  it("is a signed delivery that says it is a test, and answers what the receiver said", async () => {
    receiver.answer = (_received, response) => response.writeHead(201).end("seen");
    const { id, secret, path } = await newTarget();
    const answer = await test(id);
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

  it("sends the payload and type that are given, with a session, too, and by a legacy endpoint's id", async () => {
    account = await signUp(node);
    const made = await node.call("POST", "/api/v1/endpoints", {
      key: account.api_key,
      body: { name: "old", url: `${receiver.url}/legacy` },
    });
    const answer = await node.call("POST", `/api/v1/targets/${made.body.id}/test`, {
      session: account.session_token,
      body: { event_type: "order.made", payload: { text: "grüße" } },
    });
    expect(answer.body).toMatchObject({ delivered: true });
    const [arrived] = await receiver.arrivals(1, { path: "/legacy" });
    expect(arrived!.body.toString()).toBe('{"text":"grüße"}');
    expect(arrived!.headers["x-event-type"]).toBe("order.made");
    expect(isSignedWith(made.body.secret, arrived!)).toBe(true);
  });

  it("is no item: nothing is stored, billed, counted or retried", async () => {
    receiver.answer = (_received, response) => response.writeHead(500).end("broken");
    const { id, path } = await newTarget();
    const before = await readTarget(id);
    const answer = await test(id);
    receiver.answer = answerOk;
    expect(answer.body).toMatchObject({
      delivered: false,
      attempt: { status_code: 500, error: "receiver answered 500", response_body: "broken" },
    });
    const key = account.api_key;
    const { body } = await node.call("GET", `/api/v1/events?target_id=${id}`, { key });
    expect(body.events).toEqual([]);
    expect((await node.call("GET", `/api/v1/events/${answer.body.event_id}`, { key })).status).toBe(404);
    expect(await acceptedEvents(node, account)).toBe(0);
    const stats = await node.call("GET", `/api/v1/stats?target_id=${id}&${aroundNow()}`, { key });
    expect(stats.body.totals).toMatchObject({ accepted: 0, delivered: 0, retried: 0, failed: 0 });
    const health = await node.call("GET", `/api/v1/targets/${id}/health`, { key });
    expect(health.body).toMatchObject({ failing_since: null, last_attempt_at: null, circuit: "closed" });
    expect(await readTarget(id)).toEqual(before);
    const { rows } = await node.pool.query("select count(*)::int as due from deliveries");
    expect(rows).toEqual([{ due: 0 }]);
    expect(receiver.received.filter((one) => one.path === path)).toHaveLength(1);
  });

  it("leaves a target enabled whose receiver answers 410, and works for one that is disabled", async () => {
    receiver.answer = (_received, response) => response.writeHead(410).end();
    const { id } = await newTarget();
    expect((await test(id)).body).toMatchObject({ delivered: false, attempt: { status_code: 410 } });
    receiver.answer = answerOk;
    expect(await readTarget(id)).toMatchObject({ enabled: true });
    const key = account.api_key;
    await node.call("PATCH", `/api/v1/targets/${id}`, { key, body: { enabled: false } });
    expect((await test(id)).body).toMatchObject({ delivered: true });
    expect(await readTarget(id)).toMatchObject({ enabled: false });
  });

  it("keeps to the address guard", async () => {
    const { id } = await newTarget();
    const strict = createTestNode(database, { POSTRIDER_ALLOW_HTTP_TARGETS: "true" });
    try {
      const answer = await strict.call("POST", `/api/v1/targets/${id}/test`, { key: account.api_key });
      expect(answer.body).toMatchObject({ delivered: false, attempt: { status_code: 0 } });
      expect(answer.body.attempt.error).toContain("not allowed");
    } finally {
      await strict.stop();
    }
  });

  it("shows up at the receiver within the service", async () => {
    account = await signUp(node);
    const target = await createWebhookTarget(
      node,
      account,
      `https://tryout.postrider.invalid/${"5".repeat(32)}`,
    );
    const { body } = await test(target.id);
    expect(body).toMatchObject({ delivered: true });
    const key = account.api_key;
    const seen = await node.call("GET", `/api/v1/targets/${target.id}/tryout`, { key });
    expect(JSON.stringify(seen.body)).toContain(body.event_id);
  });
});

describe("a test is refused", () => {
  it("for a mailbox: 400 that says what to do instead", async () => {
    const box = await createMailbox(node);
    const answer = await test(box.id, {}, box.account);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("send it an item") },
    });
  });

  it("with a payload that the target does not take: 413", async () => {
    const { id } = await newTarget();
    const key = account.api_key;
    await node.call("PATCH", `/api/v1/targets/${id}`, { key, body: { max_payload_bytes: 1024 } });
    expect((await test(id, { payload: "x".repeat(2000) })).status).toBe(413);
  });

  it("past ten a minute for a target and thirty for a workspace, over all nodes: 429", async () => {
    const { id } = await newTarget();
    const other = createTestNode(database, env);
    try {
      const key = account.api_key;
      const answers = await Promise.all(
        Array.from({ length: 14 }, (_, index) =>
          (index % 2 === 0 ? node : other).call("POST", `/api/v1/targets/${id}/test`, { key }),
        ),
      );
      const refused = answers.filter(({ status }) => status === 429);
      expect([refused.length, answers.filter(({ status }) => status === 200).length]).toEqual([4, 10]);
      expect(Number(refused[0]!.headers["retry-after"])).toBeGreaterThan(0);
      const more = await Promise.all(
        ["/a", "/b", "/c"].map((path) => createWebhookTarget(node, account, receiver.url + path)),
      );
      const sent: number[] = [];
      for (const target of more) {
        for (let n = 0; n < 10; n++) sent.push((await test(target.id)).status);
      }
      expect(sent.filter((status) => status === 200)).toHaveLength(20);
      expect(sent.slice(20)).toEqual(Array(10).fill(429));
      // Another workspace has its own limit.
      expect((await test((await newTarget()).id)).status).toBe(200);
    } finally {
      await other.stop();
    }
  });
});
