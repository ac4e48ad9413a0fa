import { sql } from "kysely";
import { describe, expect } from "vitest";
import type { EventFilter } from "../src/events/eventFilter.ts";
import { readPayload } from "../src/events/readEvent.ts";
import { listIds } from "../src/events/listEvents.ts";
import { latestReplays } from "../src/events/replaysOf.ts";
import { readProgress } from "../src/events/progress.ts";
import { readAttempts, readEvents } from "../src/events/store.ts";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { dayMs, dayOf, ensurePartitions, tablesById } from "../src/postgres/partitions.ts";
import { createQueries, type Queries } from "../src/postgres/tables.ts";
import { listPublications } from "../src/publications/readPublication.ts";
import { databaseTest, file } from "./support/fixtures.ts";

/*
 * Reading an event plans and locks the partitions of its own days, and a list those of the days that fill its
 * page, however many days are stored. With a year of days, a statement without a range of ids takes a tenth of a
 * second to plan, and half a second on a new connection.
 */

const daysStored = 30;

const it = databaseTest({ poolSize: 1 })
  /** An event of today with a publication's payload, stored after many days. */
  .extend("event", file, async ({ pool }) => {
    const nowMs = Date.now();
    for (let day = daysStored; day >= 0; day -= 7) await ensurePartitions(pool, nowMs - day * dayMs);
    const [orgId, targetId] = [newId(0, nowMs), newId(3, nowMs)];
    const publicationId = newId(bucketOf(orgId), nowMs);
    const id = newId(bucketOf(targetId), nowMs);
    await pool.query(
      `insert into publications (bucket, id, org_id, payload, event_ids) values ($1, $2, $3, '{"n":1}', array[$4::uuid])`,
      [bucketOf(orgId), publicationId, orgId, id],
    );
    await pool.query(
      `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload, publication_id)
       values ($1, 1, 8, true, $2, $3, $4, '', $5)`,
      [bucketOf(targetId), targetId, id, orgId, publicationId],
    );
    return { id, scope: { orgId, mailboxRetentionMs: dayMs }, today: Math.floor(nowMs / dayMs) };
  })
  .extend("queries", file, ({ pool }) => createQueries(pool))
  /** Failed events of one organization, newest first: of today, of ten days ago and of the first day. */
  .extend("listed", file, async ({ pool, event: { today } }) => {
    const nowMs = Date.now();
    const [orgId, targetId] = [newId(0, nowMs), newId(3, nowMs)];
    const bucket = bucketOf(targetId);
    const ids = [0, 10, daysStored].map((days) => newId(bucket, nowMs - days * dayMs));
    await pool.query(
      `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, payload)
       select $1, 1, 8, true, $2, id, $3, 'order.created', 'order-1', '' from unnest($4::uuid[]) as i (id)`,
      [bucket, targetId, orgId, ids],
    );
    await pool.query(
      `insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
       select $1, 'FAILED', id, $3, $2, $5 from unnest($4::uuid[]) as i (id)`,
      [bucket, targetId, orgId, ids, nowMs],
    );
    return {
      ids,
      today,
      filter: { orgId, mailboxRetentionMs: dayMs, order: "desc", limit: 1, offset: 0 } as const,
    };
  });

it("reading an event locks no partition of an earlier day, and finds the event", async ({
  event,
  queries,
}) => {
  const { id, scope, today } = event;
  await queries.transaction().execute(async (snapshot) => {
    const [found] = await readEvents(snapshot, scope, [id]);
    expect((await readProgress(snapshot, [found!])).get(id)).toMatchObject({ attempts: 0 });
    expect(await readAttempts(snapshot, found!)).toEqual([]);
    expect(await readPayload(snapshot, scope, id)).toEqual({
      outcome: "read",
      payload: Buffer.from('{"n":1}'),
    });
    expect(await lockedDays(snapshot)).toEqual([today]);
    expect([...(await latestReplays(snapshot, scope, [id]))]).toEqual([]);
    // Replays are later than their event; one day earlier is read because clocks may differ.
    expect(Math.min(...(await lockedDays(snapshot)))).toBe(today - 1);
  });
});

describe("a page", () => {
  const pages: Partial<EventFilter>[] = [
    {},
    { status: "FAILED" },
    { correlationId: "order-1" },
    { eventType: "order.created" },
  ];
  // Each index is searched in steps of many more events than a page.
  const searched: Partial<EventFilter> = { correlationId: "order-1", status: "FAILED" };

  it.for(pages)(
    "that newer days fill locks no partition of other days: %o",
    async (asked, { listed, queries }) => {
      await queries.transaction().execute(async (snapshot) => {
        expect(await listIds(snapshot, { ...listed.filter, ...asked })).toEqual({ ids: [listed.ids[0]] });
        expect(Math.min(...(await lockedDays(snapshot)))).toBeGreaterThanOrEqual(listed.today - 2);
      });
    },
  );

  it.for([...pages, searched])(
    "reaches back as many days as needed: %o",
    async (asked, { listed, queries }) => {
      const page = async (more: Partial<EventFilter>): Promise<string[]> =>
        (await listIds(queries, { ...listed.filter, ...asked, ...more })).ids;
      const { ids } = listed;
      expect(await page({ limit: 2 })).toEqual(ids.slice(0, 2));
      expect(await page({ limit: 10 })).toEqual(ids);
      expect(await page({ limit: 2, offset: 1 })).toEqual(ids.slice(1, 3));
      expect(await page({ limit: 2, below: ids[0]! })).toEqual(ids.slice(1, 3));
      expect(await page({ limit: 10, above: ids[2]! })).toEqual(ids.slice(0, 2));
      expect(await page({ limit: 2, order: "asc" })).toEqual(ids.toReversed().slice(0, 2));
      expect(await page({ limit: 1, order: "asc", above: ids[2]! })).toEqual([ids[1]]);
      expect(await page({ limit: 10, order: "asc", above: ids[2]! })).toEqual([ids[1], ids[0]]);
    },
  );
});

it("pages of publications reach back as many days as needed", async ({ listed, pool, queries }) => {
  const { ids, filter } = listed;
  await pool.query(
    `insert into publications (bucket, id, org_id, payload, event_ids)
     select get_byte(uuid_send(id), 15), id, $1, '', '{}' from unnest($2::uuid[]) as i (id)`,
    [filter.orgId, ids],
  );
  const page = async (query: Parameters<typeof listPublications>[2]): Promise<string[]> =>
    (await listPublications(queries, filter.orgId, query)).map(({ id }) => id);
  expect(await page({ limit: 1 })).toEqual(ids.slice(0, 1));
  expect(await page({ limit: 2 })).toEqual(ids.slice(0, 2));
  expect(await page({ limit: 10 })).toEqual(ids);
  expect(await page({ limit: 1, before: ids[0]! })).toEqual([ids[1]]);
  expect(await page({ limit: 10, before: ids[0]! })).toEqual(ids.slice(1));
});

/** Returns the days of the partitions that the transaction has locked, in order, in days since 1970. */
async function lockedDays(snapshot: Queries): Promise<number[]> {
  const { rows } = await sql<{ relname: string }>`
    select c.relname
    from pg_locks l
    join pg_class c on c.oid = l.relation
    join pg_inherits i on i.inhrelid = c.oid
    where l.pid = pg_backend_pid()
      and i.inhparent = any (${tablesById}::regclass[])
  `.execute(snapshot);
  return [...new Set(rows.map(({ relname }) => dayOf(relname)))].toSorted((a, b) => a - b);
}
