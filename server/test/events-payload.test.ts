import { afterAll, beforeAll, expect, it } from "vitest";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { createWebhookTarget } from "./support/items.ts";
import { type Account, createTestNode, signUp, type TestNode } from "./support/testNode.ts";

let database: TestDatabase;
let node: TestNode;
let account: Account;

beforeAll(async () => {
  database = await createTestDatabase();
  node = createTestNode(database, { POSTRIDER_ROLES: "api", POSTRIDER_MAILBOX_RETENTION_SECONDS: "3600" });
  account = await signUp(node);
});

afterAll(async () => {
  await node?.stop();
  await database?.drop();
});

/** JSON whose bytes no parser would give back: blanks, a number with a zero at its end, an escape, a name twice. */
const bytes = '{ "total": 10.50,\n\t"name": "\\u0041da \u00fc", "name": "x", "big": 12345678901234567890 }';

async function createMailbox(): Promise<string> {
  const body = { kind: "mailbox", name: "box" };
  return (await node.call("POST", "/api/v1/targets", { key: account.api_key, body })).body.id;
}

async function accept(targetId: string): Promise<string> {
  const answer = await node.service.app.inject({
    method: "POST",
    url: `/t/${targetId}`,
    headers: { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" },
    payload: bytes,
  });
  expect(answer.statusCode).toBe(202);
  return answer.json<{ id: string }>().id;
}

/** Stores an event as the service would have, so that it may be of any kind and age. */
async function store(kind: number, targetId: string, atMs: number): Promise<string> {
  const id = newId(bucketOf(targetId), atMs);
  await node.pool.query(
    `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
     values ($1, $2, 8, true, $3, $4, $5, $6)`,
    [bucketOf(targetId), kind, targetId, id, account.user.org_id, Buffer.from(bytes)],
  );
  return id;
}

function download(id: string, credential: Record<string, string | undefined>) {
  return node.service.app.inject({
    method: "GET",
    url: `/api/v1/events/${id}/payload`,
    headers: credential,
  });
}

it.each<[string, () => Promise<string>]>([
  ["a webhook", async () => accept((await createWebhookTarget(node, account, "https://8.8.8.8/")).id)],
  ["a mailbox", async () => accept(await createMailbox())],
  ["an agent", async () => store(3, newId(9, Date.now()), Date.now())],
])("gives the bytes of an item for %s as they came, to keys and sessions", async (_kind, make) => {
  const id = await make();
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
});

it("gives a replay the bytes of its source", async () => {
  const id = await accept(await createMailbox());
  const replay = await node.call("POST", `/api/v1/events/${id}/replay`, { key: account.api_key });
  const answer = await download(replay.body.id, { authorization: `Bearer ${account.api_key}` });
  expect(answer.rawPayload.equals(Buffer.from(bytes))).toBe(true);
});

it("does not know another organization's events, nor what is no id", async () => {
  const id = await accept(await createMailbox());
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

it("answers 410 for a message that has expired in its mailbox", async () => {
  const mailbox = await createMailbox();
  const id = await store(2, mailbox, Date.now() - 3_700_000);
  const answer = await node.call("GET", `/api/v1/events/${id}/payload`, { key: account.api_key });
  expect(answer).toMatchObject({
    status: 410,
    body: { error: "the message has expired, and its payload with it" },
    headers: { "x-error-code": "payload_gone" },
  });
  const recent = await store(2, mailbox, Date.now() - 3_500_000);
  const kept = await node.call("GET", `/api/v1/events/${recent}/payload`, { key: account.api_key });
  expect(kept.status).toBe(200);
});
