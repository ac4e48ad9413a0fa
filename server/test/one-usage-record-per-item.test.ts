import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { until } from "./support/embeddedProcess.ts";
import { acceptedEvents, createWebhookTarget, readEvent, sendItem, sendItems } from "./support/items.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { startService, type ServiceProcess } from "./support/serviceProcess.ts";
import { type Account, type Answer, signUp } from "./support/testNode.ts";

let database: TestDatabase;
let service: ServiceProcess;
let other: ServiceProcess;
let receiver: Receiver;
let account: Account;

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver(({ path }, response) => {
    response.writeHead(path === "/broken" ? 500 : 200).end();
  });
  [service, other] = await Promise.all([
    startService({ storage: { databaseUrl: database.url } }),
    startService({ storage: { databaseUrl: database.url } }),
  ]);
});

beforeEach(async () => {
  account = await signUp(service);
});

afterAll(async () => {
  await Promise.all([service?.stop(), other?.stop()]);
  await receiver?.stop();
  await database?.drop();
});

function post(path: string, headers: Record<string, string> = {}, payload = "{}"): Promise<Answer> {
  return service.call("POST", path, { key: account.api_key, payload, headers });
}

/** Both nodes count the same, before and after the records were folded into the month's total. */
async function expectUsage(count: number): Promise<void> {
  expect(await acceptedEvents(service, account)).toBe(count);
  expect(await acceptedEvents(other, account)).toBe(count);
}

it("counts each accepted item once, whatever its target's kind and whichever node took it", async () => {
  await expectUsage(0);
  const webhook = await createWebhookTarget(service, account, receiver.url);
  await sendItems(service, account, webhook.id, 40);
  await sendItems(other, account, webhook.id, 40);
  await expectUsage(80);
  const mailbox = await service.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "mailbox", name: "inbox" },
  });
  await sendItems(service, account, mailbox.body.id, 15);
  expect((await post(`/e/${webhook.id}`)).status).toBe(202);
  await expectUsage(96);
});

it("counts nothing for duplicates, conflicts and rejections", async () => {
  const webhook = await createWebhookTarget(service, account, receiver.url, { max_payload_bytes: 50 });
  const path = `/t/${webhook.id}`;
  const key = { "idempotency-key": "once" };
  const statuses = [
    (await post(path, key)).status,
    (await post(path, key)).status,
    (await post(path, key, '{"other":1}')).status,
    (await post(path, {}, "{")).status,
    (await post(path, {}, `"${"x".repeat(60)}"`)).status,
    (await post(path, { "content-type": "text/plain" })).status,
    (await post(path, { "x-correlation-id": "a b" })).status,
    (await post(`/t/${"0".repeat(32)}`)).status,
    (await service.call("POST", path, { payload: "{}" })).status,
  ];
  expect(statuses).toEqual([202, 202, 409, 400, 413, 415, 400, 404, 401]);
  await expectUsage(1);
});

it("counts an item that is filtered, fails, is retried or canceled like any other, and never again", async () => {
  const filtered = await createWebhookTarget(service, account, receiver.url, { event_types: ["wanted"] });
  await sendItem(service, account, filtered.id, { event_type: "unwanted" });
  const schedule = { retry_interval_seconds: 1, max_retries: 1 };
  const broken = await createWebhookTarget(service, account, `${receiver.url}/broken`, schedule);
  const failing = await sendItem(service, account, broken.id);
  await until("the item has failed", 15_000, async () => {
    return (await readEvent(service, account, failing)).event.status === "FAILED";
  });
  const waiting = await createWebhookTarget(service, account, `${receiver.url}/broken`);
  await sendItem(service, account, waiting.id);
  await service.call("DELETE", `/api/v1/targets/${waiting.id}`, { key: account.api_key });
  await expectUsage(3);
});

it("counts no replay and no read", async () => {
  const webhook = await createWebhookTarget(service, account, `${receiver.url}/replayed`);
  const id = await sendItem(service, account, webhook.id);
  await until("it is delivered", 10_000, async () => {
    return (await readEvent(service, account, id)).event.status === "DELIVERED";
  });
  for (let replay = 0; replay < 3; replay++) {
    const answer = await service.call("POST", `/api/v1/events/${id}/replay`, { key: account.api_key });
    expect(answer.status).toBe(202);
  }
  await receiver.arrivals(4, { path: "/replayed" });
  for (const path of ["/api/v1/events", `/api/v1/events/${id}`, "/api/v1/targets", "/api/v1/usage"]) {
    await service.call("GET", path, { key: account.api_key });
  }
  await expectUsage(1);
});

it("counts a mailbox item once, however often it is listed, read, claimed and acknowledged", async () => {
  const { body: mailbox } = await service.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "mailbox", name: "inbox" },
  });
  const id = await sendItem(service, account, mailbox.id);
  const key = account.api_key;
  const answers = [
    await service.call("GET", `/api/v1/mailboxes/${mailbox.id}/messages?status=UNREAD`, { key }),
    await service.call("GET", `/api/v1/mailbox-messages/${id}`, { key }),
    await service.call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key }),
    await service.call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key }),
    await service.call("POST", `/api/v1/mailbox-messages/${id}/ack`, { key }),
    await service.call("POST", `/api/v1/mailbox-messages/${id}/ack`, { key }),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 409, 200, 200]);
  await expectUsage(1);
});

it("counts for the organization whose item it is, and for no other", async () => {
  const neighbour = await signUp(service);
  const webhook = await createWebhookTarget(service, account, receiver.url);
  await sendItems(service, account, webhook.id, 7);
  await post(`/t/${webhook.id}`);
  expect((await service.call("POST", `/t/${webhook.id}`, { key: neighbour.api_key, body: {} })).status).toBe(
    404,
  );
  await expectUsage(8);
  expect(await acceptedEvents(service, neighbour)).toBe(0);
});
