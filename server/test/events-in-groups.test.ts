import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bucketOf, newId } from "../src/db/ids.ts";
import { ensurePartitions } from "../src/db/partitions.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { type Account, createTestNode, signUp, type TestNode } from "./support/testNode.ts";

/*
 * Items that were accepted together wait in one row. Nobody sees that: each is listed and read as if it were alone.
 */

let database: TestDatabase;
let node: TestNode;
let account: Account;

beforeAll(async () => {
  database = await createTestDatabase();
  node = createTestNode(database, { POSTRIDER_ROLES: "api" });
  await ensurePartitions(node.pool, Date.now());
  account = await signUp(node);
});

afterAll(async () => {
  await node?.stop();
  await database?.drop();
});

async function idsOf(query: string): Promise<string[]> {
  const { status, body } = await node.call("GET", `/api/v1/events?${query}`, { key: account.api_key });
  expect(status).toBe(200);
  return body.events.map((event: { id: string }) => event.id);
}

/** Pages through a list, each from where the last one ended. */
async function pagesOf(query: string, limit: number): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const before = all.length === 0 ? "" : `&before=${all.at(-1)}`;
    const page = await idsOf(`${query}&limit=${limit}${before}`);
    all.push(...page);
    if (page.length < limit) return all;
  }
}

async function rowsOf(targetId: string): Promise<number> {
  const { rowCount } = await node.pool.query("select from deliveries where target_id = $1", [targetId]);
  return rowCount ?? 0;
}

/** Stores waiting items as batches would have: rows whose ids lie between each other's. */
async function storeRows(targetId: string, rows: number, perRow: number, leased: number): Promise<string[]> {
  const bucket = bucketOf(targetId);
  const all: string[] = [];
  const slotMs = 1_024;
  for (let row = 0; row < rows; row++) {
    // Four rows to a slot of their clocks, each all over it.
    const startMs = Math.floor((Date.now() - 600_000) / slotMs) * slotMs + Math.floor(row / 4) * slotMs;
    const ids = Array.from({ length: perRow }, (_, n) =>
      newId(bucket, startMs + Math.floor((n * slotMs) / perRow)),
    ).sort();
    all.push(...ids);
    await node.pool.query(
      `with stored as (
         insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
         select $1, 1, 8, true, $2, id, $3, '{}'
         from unnest($4::uuid[]) as id
       )
       insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids, lease_until, lease_token)
       values ($1, 1, $5, $2, $3, 1, $4, $6::bigint, $6::bigint)`,
      [bucket, targetId, account.user.org_id, ids, newId(bucket, startMs), row < leased ? 9e15 : null],
    );
  }
  return all.sort().toReversed();
}

describe("items that share a row", () => {
  it("come from one batch, and are each listed and read as QUEUED", async () => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = (await sendItems(node, account, targetId, 96)).sort().toReversed();
    expect(await rowsOf(targetId)).toBeLessThan(ids.length / 2);
    expect(await pagesOf(`target_id=${targetId}&status=QUEUED`, 10)).toEqual(ids);
    expect(await pagesOf(`target_id=${targetId}`, 10)).toEqual(ids);
    for (const status of ["RETRYING", "DELIVERED", "FAILED", "CANCELED"]) {
      expect(await idsOf(`target_id=${targetId}&status=${status}`)).toEqual([]);
    }
    for (const id of ids.slice(0, 5)) {
      const { body } = await node.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
      expect(body.event).toMatchObject({ id, status: "QUEUED" });
      expect(body.delivery_attempts).toEqual([]);
    }
  });

  it("are listed in order where rows reach over each other, leased or not, by any page", async () => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = await storeRows(targetId, 30, 24, 7);
    for (const limit of [1, 7, 50, 100]) {
      const pages = limit === 1 ? ids.slice(0, 40) : ids;
      const query = `target_id=${targetId}&status=QUEUED`;
      const found = limit === 1 ? (await pagesOf(query, 1)).slice(0, 40) : await pagesOf(query, limit);
      expect(found).toEqual(pages);
    }
    expect(await idsOf(`target_id=${targetId}&status=QUEUED&limit=20&offset=333`)).toEqual(
      ids.slice(333, 353),
    );
    const everywhere = await pagesOf("status=QUEUED", 100);
    expect(everywhere.filter((id) => ids.includes(id))).toEqual(ids);
  });

  it("say when they are due, alone or together, and nothing while they are leased", async () => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = await storeRows(targetId, 2, 3, 1);
    const dueOf = async (id: string): Promise<unknown> =>
      (await node.call("GET", `/api/v1/events/${id}`, { key: account.api_key })).body.event.next_attempt_at;
    const due = await Promise.all(ids.map(dueOf));
    expect(due.filter((at) => at === null)).toHaveLength(3);
    expect(due.filter((at) => at === 0)).toHaveLength(3);
  });

  it("are canceled one and all with their target", async () => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = await storeRows(targetId, 12, 20, 5);
    const deleted = await node.call("DELETE", `/api/v1/targets/${targetId}`, { key: account.api_key });
    expect(deleted.body).toEqual({ deleted: true });
    expect(await pagesOf(`target_id=${targetId}&status=CANCELED`, 50)).toEqual(ids);
    expect(await pagesOf(`target_id=${targetId}&status=QUEUED`, 50)).toEqual([]);
    expect(await rowsOf(targetId)).toBe(0);
  });
});
