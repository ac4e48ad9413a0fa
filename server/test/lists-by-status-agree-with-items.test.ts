import { expect } from "vitest";
import { file, nodeTest } from "./support/fixtures.ts";
import { createMailbox, type TestMailbox } from "./support/mailbox.ts";
import type { Account, TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";

/* A list by a mailbox status contains the items whose own status is the same, also items of deleted mailboxes. */

const it = nodeTest().extend("hasty", file, ({ newNode }) =>
  newNode({ POSTRIDER_MAILBOX_RETENTION_SECONDS: "1" }),
);

interface Listed {
  id: string;
  status: string;
}

async function listed(node: TestNode, { api_key: key }: Account, query: string): Promise<Listed[]> {
  const { status, body } = await node.call("GET", `/api/v1/events?${query}`, { key });
  expect(status).toBe(200);
  return body.events;
}

/** Sends an item, and ends it by one call of its consumer. */
async function ended(box: TestMailbox, verb: "ack" | "reject"): Promise<string> {
  const id = await box.send({});
  const { messages } = (await box.post("claim", { max: 1 })).body;
  expect(messages).toMatchObject([{ id }]);
  expect((await box.post(verb, { messages, reason: "no" })).body.results).toMatchObject([{ ok: true }]);
  return id;
}

it("EXPIRED contains no item that was canceled or filtered before, also not as a message", async ({
  node,
  hasty,
}) => {
  const box = await createMailbox(node, { filter: { metadata: { event_type: ["wanted"] } } });
  const wanted = { "x-event-type": "wanted" };
  const canceled = await box.send({}, wanted);
  const filtered = await box.send({}, { "x-event-type": "other" });
  const { api_key: key } = box.account;
  expect((await node.call("POST", `/api/v1/events/${canceled}/cancel`, { key })).status).toBe(200);
  const expired = await box.send({}, wanted);
  for (const query of ["status=EXPIRED", `status=EXPIRED&target_id=${box.id}`]) {
    const events = await until(
      () => listed(hasty, box.account, query),
      (all) => all.some(({ id }) => id === expired),
    );
    expect(events, query).toMatchObject([{ id: expired, status: "EXPIRED" }]);
  }
  const path = `/api/v1/mailboxes/${box.id}/messages?status=EXPIRED`;
  expect((await hasty.call("GET", path, { key })).body.messages).toMatchObject([{ id: expired }]);
  for (const id of [canceled, filtered])
    expect((await hasty.call("GET", `/api/v1/mailbox-messages/${id}`, { key })).status).toBe(404);
});

it("a claim of an item that was canceled or filtered says that it has ended, not that it is claimed", async ({
  node,
}) => {
  const box = await createMailbox(node, { filter: { metadata: { event_type: ["wanted"] } } });
  const canceled = await box.send({}, { "x-event-type": "wanted" });
  const filtered = await box.send({}, { "x-event-type": "other" });
  const { api_key: key } = box.account;
  expect((await node.call("POST", `/api/v1/events/${canceled}/cancel`, { key })).status).toBe(200);
  for (const id of [canceled, filtered]) {
    const { status, headers, body } = await box.one(id, "claim");
    expect([status, headers["x-error-code"]], body.error).toEqual([409, "message_ended"]);
  }
});

it("lists contain the items of deleted mailboxes", async ({ node, hasty }) => {
  const gone = await createMailbox(node);
  const { account } = gone;
  const kept = await createMailbox(node, {}, account);
  const [acknowledged, dead] = [await ended(gone, "ack"), await ended(gone, "reject")];
  const canceled = await gone.send({});
  const stays = await ended(kept, "ack");
  const { api_key: key } = account;
  expect((await node.call("DELETE", `/api/v1/targets/${gone.id}`, { key })).status).toBe(200);
  const found = async (on: TestNode, status: string): Promise<string[]> => {
    const events = await listed(on, account, `status=${status}`);
    for (const event of events) expect(event.status).toBe(status);
    return events.map(({ id }) => id);
  };
  expect(await found(node, "ACKNOWLEDGED")).toEqual([stays, acknowledged]);
  expect(await found(node, "DEAD")).toEqual([dead]);
  expect(await found(node, "CANCELED")).toEqual([canceled]);
  expect(await found(node, "UNREAD")).toEqual([]);
  const expired = await until(
    () => found(hasty, "EXPIRED"),
    (ids) => ids.includes(stays),
  );
  expect(expired).toEqual([stays, dead, acknowledged]);
});
