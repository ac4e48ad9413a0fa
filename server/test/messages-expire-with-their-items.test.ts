import { expect } from "vitest";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { dayMs, ensurePartitions } from "../src/postgres/partitions.ts";
import { createMailbox } from "./support/mailbox.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { storeEvents, storeMessages } from "./support/storedEvents.ts";

// Messages would live for a week, but their items, which hold the payloads, for a day.
const it = nodeTest({ POSTRIDER_ROLES: "api", POSTRIDER_RETENTION_DAYS: "1" }).extend(
  "mailbox",
  file,
  ({ node }) => createMailbox(node),
);

it("a message past its item's retention is EXPIRED wherever it is read, and is not replayed", async ({
  node,
  mailbox,
}) => {
  const atMs = Date.now() - dayMs - 60_000;
  await ensurePartitions(node.pool, atMs);
  const id = newId(bucketOf(mailbox.id), atMs);
  const { org_id: orgId } = mailbox.account.user;
  const message = { orgId, targetId: mailbox.id, ids: [id] };
  await storeEvents(node.pool, message, { kind: 2 });
  await storeMessages(node.pool, message);
  const key = mailbox.account.api_key;
  const get = async (path: string) => (await node.call("GET", path, { key })).body;
  expect((await mailbox.read(id)).body.status).toBe("EXPIRED");
  expect((await get(`/api/v1/events/${id}`)).event.status).toBe("EXPIRED");
  expect((await get("/api/v1/events?status=EXPIRED")).events).toMatchObject([{ id }]);
  expect((await get("/api/v1/events?status=UNREAD")).events).toEqual([]);
  const replay = await node.call("POST", `/api/v1/events/${id}/replay`, { key });
  expect(replay).toMatchObject({ status: 409, body: { error: expect.stringContaining("expired") } });
});
