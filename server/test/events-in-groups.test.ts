import { describe, expect } from "vitest";
import { bucketOf, idTimeMs, newId } from "../src/postgres/ids.ts";
import { ensurePartitions } from "../src/postgres/partitions.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import {
  storeAttempts,
  storeDeliveredGroup,
  storeEvents,
  storeWaiting,
  storeWaitingGroup,
} from "./support/storedEvents.ts";
import { waitingRows } from "./support/storedItems.ts";

/*
 * Items accepted together wait in one row, and those delivered at the first attempt are recorded in one row.
 * Clients do not see this: each item is listed and read as if it were alone.
 */

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" })
  .extend("idsOf", file, ({ node, account }) => async (query: string): Promise<string[]> => {
    const { status, body } = await node.call("GET", `/api/v1/events?${query}`, { key: account.api_key });
    expect(status).toBe(200);
    return body.events.map((event: { id: string }) => event.id);
  })
  /** Reads a list page by page, each from the end of the previous one. */
  .extend("pagesOf", file, ({ idsOf }) => async (query: string, limit: number): Promise<string[]> => {
    const all: string[] = [];
    for (;;) {
      const before = all.length === 0 ? "" : `&before=${all.at(-1)}`;
      const page = await idsOf(`${query}&limit=${limit}${before}`);
      all.push(...page);
      if (page.length < limit) return all;
    }
  })
  /** Stores delivered items, row by row, each with an attempt that shows whose it is. */
  .extend(
    "storeDelivered",
    file,
    ({ node, account }) =>
      async (targetId: string, rows: number, perRow: number): Promise<string[]> => {
        const idsOf = idsOfRows(targetId, rows, perRow);
        for (const ids of idsOf) {
          const events = { orgId: account.user.org_id, targetId, ids };
          await storeEvents(node.pool, events);
          const attempts = ids.map((id, n) => ({
            statusCode: 200 + n,
            durationMs: n,
            attemptedAtMs: idTimeMs(id) + 5_000,
            responseBody: n % 2 === 0 ? Buffer.from(id) : null,
          }));
          await storeDeliveredGroup(node.pool, events, attempts);
        }
        return idsOf.flat().sort().toReversed();
      },
  )
  /** Stores waiting items. */
  .extend(
    "storeRows",
    file,
    ({ node, account }) =>
      async (targetId: string, rows: number, perRow: number, leased: number): Promise<string[]> => {
        const idsOf = idsOfRows(targetId, rows, perRow);
        for (const [row, ids] of idsOf.entries()) {
          const events = { orgId: account.user.org_id, targetId, ids };
          await storeEvents(node.pool, events);
          const id = newId(bucketOf(targetId), idTimeMs(ids[0]!));
          await storeWaitingGroup(node.pool, events, { id, isLeased: row < leased });
        }
        return idsOf.flat().sort().toReversed();
      },
  );

it.beforeAll(async ({ node }) => {
  await ensurePartitions(node.pool, Date.now());
});

/** Ids of items as batches would create them: four rows per slot, each spread over the whole slot. */
function idsOfRows(targetId: string, rows: number, perRow: number): string[][] {
  const slotMs = 1_024;
  return Array.from({ length: rows }, (_, row) => {
    const startMs = Math.floor((Date.now() - 600_000) / slotMs) * slotMs + Math.floor(row / 4) * slotMs;
    return Array.from({ length: perRow }, (_item, n) =>
      newId(bucketOf(targetId), startMs + Math.floor((n * slotMs) / perRow)),
    ).sort();
  });
}

describe("items that share a row", () => {
  it("come from one batch, and are each listed and read as QUEUED", async ({
    node,
    account,
    pagesOf,
    idsOf,
  }) => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = (await sendItems(node, account, targetId, 96)).sort().toReversed();
    const rows = await waitingRows(node.pool, [targetId]);
    expect(rows.length).toBeLessThan(ids.length / 2);
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

  it("are listed in order when the id ranges of rows overlap, leased or not, by any page size", async ({
    node,
    account,
    storeRows,
    pagesOf,
    idsOf,
  }) => {
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

  it("show when they are due, alone or together, and no time while they are leased", async ({
    node,
    account,
    storeRows,
  }) => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = await storeRows(targetId, 2, 3, 1);
    const dueOf = async (id: string): Promise<unknown> =>
      (await node.call("GET", `/api/v1/events/${id}`, { key: account.api_key })).body.event.next_attempt_at;
    const due = await Promise.all(ids.map(dueOf));
    expect(due.filter((at) => at === null)).toHaveLength(3);
    expect(due.filter((at) => at === 0)).toHaveLength(3);
  });

  it("are all canceled with their target", async ({ node, account, storeRows, pagesOf }) => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = await storeRows(targetId, 12, 20, 5);
    const deleted = await node.call("DELETE", `/api/v1/targets/${targetId}`, { key: account.api_key });
    expect(deleted.body).toEqual({ deleted: true });
    expect(await pagesOf(`target_id=${targetId}&status=CANCELED`, 50)).toEqual(ids);
    expect(await pagesOf(`target_id=${targetId}&status=QUEUED`, 50)).toEqual([]);
    expect(await waitingRows(node.pool, [targetId])).toEqual([]);
  });
});

describe("items that were delivered together", () => {
  it("are listed in order beside items that were delivered alone, by any page size", async ({
    node,
    account,
    storeDelivered,
    idsOf,
    pagesOf,
  }) => {
    const { id: first } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const { id: second } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ofSecond = await storeDelivered(second, 9, 13);
    const together = [...(await storeDelivered(first, 25, 20)), ...ofSecond];
    const alone = idsOfRows(first, 12, 9).flat();
    const events = { orgId: account.user.org_id, targetId: first, ids: alone };
    await storeEvents(node.pool, events);
    await storeAttempts(node.pool, events, 2);
    const all = [...together, ...alone].sort().toReversed();
    for (const limit of [1, 7, 50, 100]) {
      const found =
        limit === 1 ? await idsOf("status=DELIVERED&limit=1") : await pagesOf("status=DELIVERED", limit);
      expect(found).toEqual(limit === 1 ? all.slice(0, 1) : all);
    }
    expect(await idsOf("status=DELIVERED&limit=20&offset=333")).toEqual(all.slice(333, 353));
    expect(await idsOf(`status=DELIVERED&limit=100&before=${all[211]}`)).toEqual(all.slice(212, 312));
    expect(await pagesOf(`target_id=${second}&status=DELIVERED`, 50)).toEqual(ofSecond);
    expect(await idsOf(`target_id=${second}&status=QUEUED`)).toEqual([]);
  });

  it("are each read with their own attempt", async ({ node, account, storeDelivered }) => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const ids = await storeDelivered(targetId, 5, 12);
    for (const id of ids) {
      const { body } = await node.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
      const [attempt, ...others] = body.delivery_attempts;
      expect(others).toEqual([]);
      const place = attempt.duration_ms;
      expect(attempt).toMatchObject({
        event_id: id,
        status_code: 200 + place,
        error: null,
        attempted_at: Math.floor((idTimeMs(id) + 5_000) / 1000),
        response_body: place % 2 === 0 ? id : null,
      });
      expect(body.event).toMatchObject({
        status: "DELIVERED",
        retry_count: 0,
        updated_at: Math.floor((idTimeMs(id) + 5_000 + place) / 1000),
      });
    }
  });

  it("are distinguished from an item of the same row that is to be tried again", async ({
    node,
    account,
    storeDelivered,
    idsOf,
  }) => {
    const { id: targetId } = await createWebhookTarget(node, account, "https://8.8.8.8/");
    const middle = idsOfRows(targetId, 1, 3)[0]![1]!;
    await storeDelivered(targetId, 4, 30);
    const events = { orgId: account.user.org_id, targetId, ids: [middle] };
    await storeEvents(node.pool, events);
    await storeWaiting(node.pool, events, { dueAtMs: 1, attempts: 1 });
    const { body } = await node.call("GET", `/api/v1/events/${middle}`, { key: account.api_key });
    expect(body.event.status).toBe("RETRYING");
    expect(body.delivery_attempts).toEqual([]);
    expect(await idsOf(`target_id=${targetId}&status=RETRYING`)).toEqual([middle]);
  });
});

it.for(["0".repeat(32), "f".repeat(32), `${"0".repeat(11)}1${"f".repeat(20)}`])(
  "lists of every status continue from %s, which is not an event",
  async (before, { idsOf, node, account }) => {
    for (const status of ["QUEUED", "RETRYING", "DELIVERED", "FAILED", "UNREAD"]) {
      const found = await idsOf(`status=${status}&limit=5&before=${before}`);
      expect(found).toEqual(before.startsWith("f") ? await idsOf(`status=${status}&limit=5`) : []);
    }
    expect((await node.call("GET", `/api/v1/events/${before}`, { key: account.api_key })).status).toBe(404);
  },
);
