import { expect } from "vitest";
import { acceptedEvents, createMailboxTarget, sendItems } from "./support/items.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend(
    "post",
    ({ service, own }) =>
      (path: string, headers: Record<string, string> = {}, payload = "{}"): Promise<Answer> =>
        service.call("POST", path, { key: own.account.api_key, payload, headers }),
  )
  /** Both nodes count the same, before and after the records were folded into the month's total. */
  .extend("expectUsage", ({ service, own, other }) => async (count: number): Promise<void> => {
    for (const one of [service, other]) expect(await acceptedEvents(one, own.account)).toBe(count);
  });

it.beforeAll(({ receiver }) => {
  receiver.answer = ({ path }, response) => {
    response.writeHead(path === "/broken" ? 500 : 200).end();
  };
});

it("counts each accepted item once, whatever its target's kind and whichever node accepted it", async ({
  expectUsage,
  service,
  own,
  other,
  post,
}) => {
  await expectUsage(0);
  const webhook = await own.newTarget();
  await sendItems(service, own.account, webhook.id, 40);
  await sendItems(other, own.account, webhook.id, 40);
  await expectUsage(80);
  const mailboxId = await createMailboxTarget(service, own.account);
  await sendItems(service, own.account, mailboxId, 15);
  expect((await post(`/e/${webhook.id}`)).status).toBe(202);
  await expectUsage(96);
});

it("counts nothing for duplicates, conflicts and rejections", async ({ service, own, post, expectUsage }) => {
  const webhook = await own.newTarget({ max_payload_bytes: 50 });
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

it("counts an item that is filtered, failed, retried or canceled once, like any other", async ({
  own,
  receiver,
  expectUsage,
}) => {
  const filtered = await own.newTarget({ event_types: ["wanted"] });
  await own.send(filtered.id, { event_type: "unwanted" });
  const url = `${receiver.url}/broken`;
  const broken = await own.newTarget({ url, retry_interval_seconds: 1, max_retries: 1 });
  const failing = await own.send(broken.id);
  await own.settled(failing, "FAILED");
  const waiting = await own.newTarget({ url });
  await own.send(waiting.id);
  await own.call("DELETE", `/api/v1/targets/${waiting.id}`);
  await expectUsage(3);
});

it("counts no replay and no read", async ({ own, receiver, expectUsage }) => {
  const webhook = await own.newTarget();
  const id = await own.send(webhook.id);
  await own.settled(id, "DELIVERED");
  for (let replay = 0; replay < 3; replay++) {
    expect((await own.call("POST", `/api/v1/events/${id}/replay`)).status).toBe(202);
  }
  await receiver.arrivals(4, { path: webhook.path });
  for (const path of ["/api/v1/events", `/api/v1/events/${id}`, "/api/v1/targets", "/api/v1/usage"]) {
    await own.call("GET", path);
  }
  await expectUsage(1);
});

it("counts a mailbox item once, however often it is listed, read, claimed and acknowledged", async ({
  service,
  own,
  expectUsage,
}) => {
  const mailboxId = await createMailboxTarget(service, own.account);
  const id = await own.send(mailboxId);
  const answers = [
    await own.call("GET", `/api/v1/mailboxes/${mailboxId}/messages?status=UNREAD`),
    await own.call("GET", `/api/v1/mailbox-messages/${id}`),
    await own.call("POST", `/api/v1/mailbox-messages/${id}/claim`),
    await own.call("POST", `/api/v1/mailbox-messages/${id}/claim`),
    await own.call("POST", `/api/v1/mailbox-messages/${id}/ack`),
    await own.call("POST", `/api/v1/mailbox-messages/${id}/ack`),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 409, 200, 200]);
  await expectUsage(1);
});

it("counts for the organization that owns the item, and for no other", async ({
  service,
  own,
  post,
  expectUsage,
}) => {
  const neighbour = await signUp(service);
  const webhook = await own.newTarget();
  await sendItems(service, own.account, webhook.id, 7);
  await post(`/t/${webhook.id}`);
  expect((await service.call("POST", `/t/${webhook.id}`, { key: neighbour.api_key, body: {} })).status).toBe(
    404,
  );
  await expectUsage(8);
  expect(await acceptedEvents(service, neighbour)).toBe(0);
});
