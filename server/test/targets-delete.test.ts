import { expect } from "vitest";
import {
  createMailboxTarget,
  createWebhookTarget,
  listEvents,
  readEvent,
  sendItem,
  sendItems,
} from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { hotRows, storeDueItems } from "./support/storedItems.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { countRows } from "./support/unseenRows.ts";

const it = sharedStartedNodeTest()
  .extend(
    "deleteTarget",
    file,
    ({ node, account }) =>
      (id: string) =>
        node.call("DELETE", `/api/v1/targets/${id}`, { key: account.api_key }),
  )
  .extend(
    "listed",
    file,
    ({ node, account }) =>
      async (targetId: string, status: string): Promise<string[]> => {
        const { body } = await node.call(
          "GET",
          `/api/v1/events?target_id=${targetId}&status=${status}&limit=100`,
          {
            key: account.api_key,
          },
        );
        return body.events.map((event: { id: string }) => event.id);
      },
  );

it("a deleted target is not found, and its waiting items are CANCELED at once", async ({
  receiver,
  node,
  account,
  listed,
  deleteTarget,
}) => {
  receiver.answer = (_received, response) => response.writeHead(500).end();
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/deleted`);
  const events = await sendItems(node, account, id, 5);
  await until(
    () => listed(id, "RETRYING"),
    (found) => found.length === 5,
  );
  expect(await deleteTarget(id)).toMatchObject({ status: 200, body: { deleted: true } });
  for (const event of events) {
    const { event: shown, delivery_attempts: attempts } = await readEvent(node, account, event);
    expect(shown).toMatchObject({ status: "CANCELED", next_attempt_at: null });
    expect(attempts).toHaveLength(1);
  }
  expect((await listed(id, "CANCELED")).sort()).toEqual(events.sort());
  expect(await listed(id, "RETRYING")).toEqual([]);
  const key = account.api_key;
  expect((await node.call("GET", `/api/v1/targets/${id}`, { key })).status).toBe(404);
  expect((await node.call("POST", `/t/${id}`, { key, body: {} })).status).toBe(404);
  expect((await deleteTarget(id)).status).toBe(404);
});

it("an item that is being delivered when its target is deleted stays CANCELED, whatever the receiver answers later", async ({
  receiver,
  node,
  account,
  deleteTarget,
  statusOf,
}) => {
  const answers: (() => void)[] = [];
  receiver.answer = (received, response) => void answers.push(() => answerOk(received, response));
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/hanging`);
  // The first item is in progress, the others wait for its outcome in the node's memory.
  const events = await sendItems(node, account, id, 3);
  await receiver.arrivals(1, { path: "/hanging" });
  await deleteTarget(id);
  for (const event of events) expect(await statusOf(event)).toBe("CANCELED");
  receiver.answer = answerOk;
  for (const answer of answers) answer();
  // An item of another target is delivered after those answers were processed.
  const other = await createWebhookTarget(node, account, `${receiver.url}/other`);
  const last = await sendItem(node, account, other.id);
  await until(
    () => statusOf(last),
    (status) => status === "DELIVERED",
  );
  await until(
    () => hotRows(node.pool),
    ({ leased, waiting }) => leased + waiting === 0,
  );
  for (const event of events) {
    const { event: shown, delivery_attempts: attempts } = await readEvent(node, account, event);
    expect([shown.status, attempts]).toEqual(["CANCELED", []]);
  }
});

it("items that were delivered, filtered or failed before stay unchanged", async ({
  receiver,
  node,
  account,
  statusOf,
  deleteTarget,
}) => {
  receiver.answer = (received, response) =>
    received.body.includes("bad") ? response.writeHead(410).end() : answerOk(received, response);
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/mixed`, { event_types: ["a"] });
  const delivered = await sendItem(node, account, id, { event_type: "a" });
  const filtered = await sendItem(node, account, id, { event_type: "b" });
  await until(
    () => statusOf(delivered),
    (status) => status === "DELIVERED",
  );
  const failed = await sendItem(node, account, id, { event_type: "a", n: "bad" });
  await until(
    () => statusOf(failed),
    (status) => status === "FAILED",
  );
  await deleteTarget(id);
  expect([await statusOf(delivered), await statusOf(filtered), await statusOf(failed)]).toEqual([
    "DELIVERED",
    "FILTERED",
    "FAILED",
  ]);
});

it("a backlog is canceled with its target", async ({ node, account, receiver, deleteTarget }) => {
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/backlog`);
  await node.call("PATCH", `/api/v1/targets/${id}`, { key: account.api_key, body: { enabled: false } });
  await storeDueItems(node.pool, { orgId: account.user.org_id, targetId: id, count: 5_000 });
  await deleteTarget(id);
  // A concurrent claim of the rows cancels them as well, and may end a little later.
  await until(
    () => listEvents(node, account, `target_id=${id}&status=CANCELED`),
    ({ length }) => length === 5_000,
  );
});

it("the messages of a deleted mailbox are CANCELED, except acknowledged ones", async ({
  account,
  node,
  statusOf,
  deleteTarget,
  listed,
}) => {
  const key = account.api_key;
  const mailboxId = await createMailboxTarget(node, account);
  const [done, claimed, unread] = [
    await sendItem(node, account, mailboxId),
    await sendItem(node, account, mailboxId),
    await sendItem(node, account, mailboxId),
  ];
  await node.call("POST", `/api/v1/mailbox-messages/${done}/claim`, { key });
  await node.call("POST", `/api/v1/mailbox-messages/${done}/ack`, { key });
  await node.call("POST", `/api/v1/mailbox-messages/${claimed}/claim`, { key });
  expect([await statusOf(done), await statusOf(claimed), await statusOf(unread)]).toEqual([
    "ACKNOWLEDGED",
    "CLAIMED",
    "UNREAD",
  ]);
  await deleteTarget(mailboxId);
  expect([await statusOf(done), await statusOf(claimed), await statusOf(unread)]).toEqual([
    "ACKNOWLEDGED",
    "CANCELED",
    "CANCELED",
  ]);
  expect((await listed(mailboxId, "CANCELED")).sort()).toEqual([claimed, unread].sort());
  expect(await listed(mailboxId, "ACKNOWLEDGED")).toEqual([done]);
  expect(await countRows(node.pool, "messages", { mailbox_id: mailboxId })).toBe(0);
});
