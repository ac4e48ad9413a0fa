import { expect } from "vitest";
import { acceptedEvents, createWebhookTarget, sendItem, sendItems } from "./support/items.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { workspaceOf } from "./support/workspace.ts";
import { sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend("owner", ({ service }) => signUp(service))
  .extend(
    "post",
    ({ service, owner }) =>
      (path: string, headers: Record<string, string> = {}, payload = "{}"): Promise<Answer> =>
        service.call("POST", path, { key: owner.api_key, payload, headers }),
  )
  /** Both nodes count the same, before and after the records were folded into the month's total. */
  .extend("expectUsage", ({ service, owner, other }) => async (count: number): Promise<void> => {
    expect(await acceptedEvents(service, owner)).toBe(count);
    expect(await acceptedEvents(other, owner)).toBe(count);
  });

it.beforeAll(({ receiver }) => {
  receiver.answer = ({ path }, response) => {
    response.writeHead(path === "/broken" ? 500 : 200).end();
  };
});

it("counts each accepted item once, whatever its target's kind and whichever node took it", async ({
  expectUsage,
  service,
  owner,
  receiver,
  other,
  post,
}) => {
  await expectUsage(0);
  const webhook = await createWebhookTarget(service, owner, receiver.url);
  await sendItems(service, owner, webhook.id, 40);
  await sendItems(other, owner, webhook.id, 40);
  await expectUsage(80);
  const mailbox = await service.call("POST", "/api/v1/targets", {
    key: owner.api_key,
    body: { kind: "mailbox", name: "inbox" },
  });
  await sendItems(service, owner, mailbox.body.id, 15);
  expect((await post(`/e/${webhook.id}`)).status).toBe(202);
  await expectUsage(96);
});

it("counts nothing for duplicates, conflicts and rejections", async ({
  service,
  owner,
  receiver,
  post,
  expectUsage,
}) => {
  const webhook = await createWebhookTarget(service, owner, receiver.url, { max_payload_bytes: 50 });
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

it("counts an item that is filtered, fails, is retried or canceled like any other, and never again", async ({
  service,
  owner,
  receiver,
  expectUsage,
}) => {
  const filtered = await createWebhookTarget(service, owner, receiver.url, { event_types: ["wanted"] });
  await sendItem(service, owner, filtered.id, { event_type: "unwanted" });
  const schedule = { retry_interval_seconds: 1, max_retries: 1 };
  const broken = await createWebhookTarget(service, owner, `${receiver.url}/broken`, schedule);
  const failing = await sendItem(service, owner, broken.id);
  await workspaceOf(service, owner, receiver).settled(failing, "FAILED");
  const waiting = await createWebhookTarget(service, owner, `${receiver.url}/broken`);
  await sendItem(service, owner, waiting.id);
  await service.call("DELETE", `/api/v1/targets/${waiting.id}`, { key: owner.api_key });
  await expectUsage(3);
});

it("counts no replay and no read", async ({ service, owner, receiver, expectUsage }) => {
  const webhook = await createWebhookTarget(service, owner, `${receiver.url}/replayed`);
  const id = await sendItem(service, owner, webhook.id);
  await workspaceOf(service, owner, receiver).settled(id, "DELIVERED");
  for (let replay = 0; replay < 3; replay++) {
    const answer = await service.call("POST", `/api/v1/events/${id}/replay`, { key: owner.api_key });
    expect(answer.status).toBe(202);
  }
  await receiver.arrivals(4, { path: "/replayed" });
  for (const path of ["/api/v1/events", `/api/v1/events/${id}`, "/api/v1/targets", "/api/v1/usage"]) {
    await service.call("GET", path, { key: owner.api_key });
  }
  await expectUsage(1);
});

it("counts a mailbox item once, however often it is listed, read, claimed and acknowledged", async ({
  service,
  owner,
  expectUsage,
}) => {
  const { body: mailbox } = await service.call("POST", "/api/v1/targets", {
    key: owner.api_key,
    body: { kind: "mailbox", name: "inbox" },
  });
  const id = await sendItem(service, owner, mailbox.id);
  const key = owner.api_key;
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

it("counts for the organization whose item it is, and for no other", async ({
  service,
  owner,
  receiver,
  post,
  expectUsage,
}) => {
  const neighbour = await signUp(service);
  const webhook = await createWebhookTarget(service, owner, receiver.url);
  await sendItems(service, owner, webhook.id, 7);
  await post(`/t/${webhook.id}`);
  expect((await service.call("POST", `/t/${webhook.id}`, { key: neighbour.api_key, body: {} })).status).toBe(
    404,
  );
  await expectUsage(8);
  expect(await acceptedEvents(service, neighbour)).toBe(0);
});
