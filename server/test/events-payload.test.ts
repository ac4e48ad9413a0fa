import { expect } from "vitest";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { createMailboxTarget, createWebhookTarget } from "./support/items.ts";
import { signUp } from "./support/testNode.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { storeEvents } from "./support/storedEvents.ts";

const it = nodeTest({ POSTRIDER_ROLES: "api", POSTRIDER_MAILBOX_RETENTION_SECONDS: "3600" })
  .extend("accept", file, ({ node, account }) => async (targetId: string): Promise<string> => {
    const answer = await node.service.app.inject({
      method: "POST",
      url: `/t/${targetId}`,
      headers: { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" },
      payload: bytes,
    });
    expect(answer.statusCode).toBe(202);
    return answer.json<{ id: string }>().id;
  })
  /** Stores an event directly, so that it may be of any kind and age. */
  .extend(
    "store",
    file,
    ({ node, account }) =>
      async (kind: number, targetId: string, atMs: number): Promise<string> => {
        const id = newId(bucketOf(targetId), atMs);
        const events = { orgId: account.user.org_id, targetId, ids: [id] };
        await storeEvents(node.pool, events, { kind, payload: bytes });
        return id;
      },
  )
  .extend(
    "itemFor",
    file,
    ({ accept, node, account, store }) =>
      async (kind: "a webhook" | "a mailbox" | "an agent"): Promise<string> => {
        switch (kind) {
          case "a webhook":
            return accept((await createWebhookTarget(node, account, "https://8.8.8.8/")).id);
          case "a mailbox":
            return accept(await createMailboxTarget(node, account));
          case "an agent":
            return store(3, newId(9, Date.now()), Date.now());
        }
      },
  )
  .extend(
    "download",
    file,
    ({ node }) =>
      (id: string, credential: Record<string, string | undefined>) =>
        node.service.app.inject({
          method: "GET",
          url: `/api/v1/events/${id}/payload`,
          headers: credential,
        }),
  );

/** JSON whose bytes no parser would restore: blanks, a number with a trailing zero, an escape, a duplicate name. */
const bytes = '{ "total": 10.50,\n\t"name": "\\u0041da \u00fc", "name": "x", "big": 12345678901234567890 }';

it.for(["a webhook", "a mailbox", "an agent"] as const)(
  "returns the exact bytes of an item for %s, to keys and sessions",
  async (kind, { itemFor, account, download }) => {
    const id = await itemFor(kind);
    for (const credential of [
      { authorization: `Bearer ${account.api_key}` },
      { "x-session-token": account.session_token },
    ]) {
      const answer = await download(id, credential);
      expect(answer.statusCode).toBe(200);
      expect(answer.rawPayload.equals(Buffer.from(bytes))).toBe(true);
      expect(answer.headers).toMatchObject({
        "content-type": "application/json",
        "content-disposition": `attachment; filename="${id}.json"`,
        "x-content-type-options": "nosniff",
      });
    }
  },
);

it("returns the bytes of its source for a replay", async ({ accept, node, account, download }) => {
  const id = await accept(await createMailboxTarget(node, account));
  const replay = await node.call("POST", `/api/v1/events/${id}/replay`, { key: account.api_key });
  const answer = await download(replay.body.id, { authorization: `Bearer ${account.api_key}` });
  expect(answer.rawPayload.equals(Buffer.from(bytes))).toBe(true);
});

it("answers 404 for another organization's events and for invalid ids", async ({ accept, node, account }) => {
  const id = await accept(await createMailboxTarget(node, account));
  const other = await signUp(node);
  for (const [path, key] of [
    [id, other.api_key],
    ["0".repeat(32), account.api_key],
    ["x", account.api_key],
  ] as const) {
    const answer = await node.call("GET", `/api/v1/events/${path}/payload`, { key });
    expect(answer).toMatchObject({ status: 404, body: { error: "not found" } });
  }
});

it("answers 410 for a message that has expired in its mailbox", async ({ node, account, store }) => {
  const mailbox = await createMailboxTarget(node, account);
  const id = await store(2, mailbox, Date.now() - 3_700_000);
  const answer = await node.call("GET", `/api/v1/events/${id}/payload`, { key: account.api_key });
  expect(answer).toMatchObject({
    status: 410,
    body: { error: "the message and its payload have expired" },
    headers: { "x-error-code": "payload_gone" },
  });
  const recent = await store(2, mailbox, Date.now() - 3_500_000);
  const kept = await node.call("GET", `/api/v1/events/${recent}/payload`, { key: account.api_key });
  expect(kept.status).toBe(200);
});
