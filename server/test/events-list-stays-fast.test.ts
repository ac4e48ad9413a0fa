import { expect } from "vitest";
import { sql } from "kysely";
import { bucketOf, newId, newRootId } from "../src/postgres/ids.ts";
import { dayMs } from "../src/postgres/partitions.ts";
import { createQueries } from "../src/postgres/tables.ts";
import type { EventFilter } from "../src/events/eventFilter.ts";
import { inSnapshot, listEvents, listIds } from "../src/events/listEvents.ts";
import { turnOf } from "../src/events/findIds.ts";
import { eventStatuses } from "../src/items/eventStatuses.ts";
import { blocksOf, explaining, type ExplainRow, type Plan, planIn, wholeReads } from "./support/plans.ts";
import { type ManyEvents, storeManyEvents } from "./support/manyEvents.ts";
import { databaseTest, file } from "./support/fixtures.ts";
import { storeTarget } from "./support/storedItems.ts";

/*
 * The plan of every list over many events: no full scan of a table, and no more pages of the database than a page
 * of 50 events can need, however many events are stored.
 */

/**
 * `EVENTS_LISTED=1000000` checks the same with a million events; values that may grow with their number grow in
 * proportion.
 */
const stored = Number(process.env["EVENTS_LISTED"] ?? 150_000);

const stores = /^(events|attempts|settlements|deliveries|messages|closed_messages)/;

const it = databaseTest()
  .extend("queries", file, ({ pool }) => createQueries(pool))
  .extend("many", file, ({ pool }) => storeManyEvents(pool, stored))
  /** Returns the plans of the statements that find a page. */
  .extend(
    "explain",
    file,
    ({ queries }) =>
      (filter: EventFilter): Promise<Plan[]> =>
        inSnapshot(queries, async (snapshot) => {
          const plans: Plan[] = [];
          await listIds(snapshot, filter, {
            run: async (statement) => {
              const { rows } = await sql<ExplainRow>`${sql.raw(explaining)} ${statement}`.execute(snapshot);
              plans.push(planIn(rows));
              return (await statement.execute(snapshot)).rows;
            },
          });
          return plans;
        }),
  );

// Storing the events takes about a minute, which must not count toward a test's time limit.
it.beforeAll(({ many: _stored }) => undefined, 600_000);

const base = { mailboxRetentionMs: 7 * dayMs, limit: 50, offset: 0, order: "desc" } as const;

interface Case {
  status: EventFilter["status"];
  of: "organization" | "webhook" | "mailbox";
  also: "correlated" | "of a type" | "alone";
  /** Where the page begins. */
  from: "newest" | "middle" | "oldest";
}

const cases: Case[] = [undefined, ...eventStatuses].flatMap((status) =>
  (["organization", "webhook", "mailbox"] as const).flatMap((of) =>
    (["correlated", "of a type", "alone"] as const).flatMap((also) =>
      (also === "alone" ? (["newest", "middle", "oldest"] as const) : (["newest", "oldest"] as const)).map(
        (from) => ({ status, of, also, from }),
      ),
    ),
  ),
);

function filterOf(many: ManyEvents, { status, of, also, from }: Case): EventFilter {
  return {
    ...base,
    orgId: many.orgId,
    status,
    ...(of !== "organization" && { targetId: of === "webhook" ? many.webhookId : many.mailboxId }),
    ...(also === "correlated" && { correlationId: many.correlationId }),
    ...(also === "of a type" && { eventType: many.rareType }),
    ...(from === "middle" && { below: many.middleId }),
    ...(from === "oldest" && { order: "asc" }),
  };
}

/**
 * Limit of database pages read for a list page of 50: a few per row and per partition. With two filters, the rarer
 * one decides: each of its hundreds of events is looked up in up to three tables. Unread messages are sorted.
 */
function mostBlocks({ also, status }: Case): number {
  if (also === "alone") return 2_500;
  return stored * (status === "UNREAD" ? 0.1 : 0.035);
}

/** The most database pages that a list may read without waiting for its turn. */
const mostFreeBlocks = 1_000;

it.for(cases)("$status of the $of, $also, from the $from", async (one, { explain, many }) => {
  const filter = filterOf(many, one);
  const plans = await explain(filter);
  expect(plans.flatMap((plan) => wholeReads(plan, stores))).toEqual([]);
  // A list that needs more statements than for the first days, for further days and for all days is a search, and
  // takes turns.
  const turn = turnOf(filter);
  expect(turn === "searches" || plans.length <= 3).toBe(true);
  expect(blocksOf(plans)).toBeLessThan(turn === undefined ? mostFreeBlocks : mostBlocks(one));
});

it("a search that finds no page in time is refused, and a page from an index is not", async ({
  queries,
  many,
}) => {
  const filter: EventFilter = { ...base, orgId: many.orgId, status: "FAILED" };
  const slow = { searchMs: 0 };
  expect((await listEvents(queries, filter, slow)).events).toHaveLength(50);
  await expect(
    listEvents(queries, { ...filter, status: "CANCELED", eventType: "order.made" }, slow),
  ).rejects.toMatchObject({ status: 400, message: expect.stringContaining("created_after") });
  const gone = { signal: AbortSignal.abort() };
  await expect(listEvents(queries, { ...filter, eventType: "order.none" }, gone)).rejects.toThrow(
    "disconnected",
  );
});

it("lists of a target's DELIVERED events do not depend on recent events", async ({
  explain,
  many,
  queries,
}) => {
  const filter: EventFilter = {
    ...base,
    orgId: many.orgId,
    targetId: many.lateWebhookId,
    status: "DELIVERED",
  };
  const plans = await explain(filter);
  expect(plans.length).toBeLessThanOrEqual(3);
  expect(plans.flatMap((plan) => wholeReads(plan, stores))).toEqual([]);
  expect(blocksOf(plans)).toBeLessThan(2_500);
  const { events } = await listEvents(queries, filter);
  expect(events.map((event) => event.status)).toEqual(Array.from({ length: 50 }, () => "DELIVERED"));
});

it("events created by a replay of many are found by the replay, alone and with a status", async ({
  pool,
  many,
  explain,
  queries,
}) => {
  const replayId = newRootId(Date.now());
  const { rows } = await pool.query<{ id: string }>(
    `update events
     set replay_id = $1
     where id = any (array(select id from events where org_id = $2 and kind = 1 order by id limit 40 offset $3))
     returning id`,
    [replayId, many.orgId, Math.floor(stored * 0.15)],
  );
  expect(rows).toHaveLength(40);
  const filter: EventFilter = { ...base, orgId: many.orgId, replayId };
  for (const more of [{}, { order: "asc" }, { status: "DELIVERED" }, { targetId: many.webhookId }] as const) {
    const plans = await explain({ ...filter, ...more });
    expect(plans.flatMap((plan) => wholeReads(plan, stores))).toEqual([]);
    expect(blocksOf(plans)).toBeLessThan(10_000);
  }
  expect((await listEvents(queries, filter)).events).toHaveLength(40);
});

it("statuses with events fill their page, from both ends", async ({ queries, many }) => {
  const empty: string[] = [];
  for (const status of eventStatuses) {
    const of = ["UNREAD", "CLAIMED", "ACKNOWLEDGED", "EXPIRED", "DEAD"].includes(status)
      ? "mailbox"
      : "webhook";
    for (const scope of ["organization", of] as const) {
      for (const from of ["newest", "oldest"] as const) {
        const { events } = await listEvents(
          queries,
          filterOf(many, { status, of: scope, also: "alone", from }),
        );
        if (events.length !== 50 || events.some((event) => event.status !== status))
          empty.push(`${status} ${scope} ${from}`);
      }
    }
  }
  expect(empty).toEqual([]);
});

it("a customer's items of a status are found without reading its other items", async ({
  pool,
  queries,
  many,
  explain,
}) => {
  const { orgId, webhookId, mailboxId } = many;
  await pool.query(
    `insert into customers (id, org_id, uid, name, metadata, created_at, updated_at)
     values ($1, $2, 'ada', '', '{}', 1, 1)`,
    [newRootId(Date.now()), orgId],
  );
  const targets = [webhookId, mailboxId];
  await pool.query("update targets set customer_uid = 'ada' where id = any ($1::uuid[])", [targets]);
  const idsOf = async (filter: EventFilter): Promise<string[]> =>
    (await listEvents(queries, filter)).events.map(({ id }) => id);
  for (const status of eventStatuses.filter((one) => one !== "DELIVERED")) {
    for (const order of ["desc", "asc"] as const) {
      const filter: EventFilter = { ...base, orgId, status, order };
      const ofEach = await Promise.all(targets.map((targetId) => idsOf({ ...filter, targetId })));
      const sorted = ofEach.flat().toSorted();
      const first = (order === "desc" ? sorted.toReversed() : sorted).slice(0, base.limit);
      expect(await idsOf({ ...filter, customerUid: "ada" }), status).toEqual(first);
      const plans = await explain({ ...filter, customerUid: "ada" });
      expect(plans.flatMap((plan) => wholeReads(plan, stores))).toEqual([]);
      expect(plans.length, status).toBeLessThanOrEqual(3);
      expect(blocksOf(plans), status).toBeLessThan(2_500);
    }
  }
});

it("unread messages are found without reading messages that have ended, or those of a bucket twice", async ({
  pool,
  explain,
}) => {
  const nowMs = Date.now();
  const orgId = newId(0, nowMs);
  const [full, drained] = [newId(3, nowMs), newId(4, nowMs)];
  await pool.query(
    `insert into organizations (id, name, slug, billing_status, created_at) values ($1, 'unread', 'unread', 'active', 1)`,
    [orgId],
  );
  await pool.query(
    `insert into targets (id, org_id, kind, name, created_at, updated_at)
     select id, $1, 'mailbox', 'unread', 1, 1 from unnest($2::uuid[]) as i (id)`,
    [orgId, [full, drained]],
  );
  for (const [mailbox, count] of [
    [full, 10_001],
    [drained, 30_000],
  ] as const) {
    await pool.query(
      `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
       select $1, 2, 8, true, $2, i.id, $3, '{}' from unnest($4::uuid[]) as i (id)`,
      [
        bucketOf(mailbox),
        mailbox,
        orgId,
        Array.from({ length: count }, () => newId(bucketOf(mailbox), nowMs)),
      ],
    );
  }
  await pool.query(
    "insert into messages (bucket, mailbox_id, id) select bucket, target_id, id from events where target_id = $1",
    [full],
  );
  // Mailboxes without messages, in the bucket of the full one.
  for (let n = 0; n < 10; n++)
    await storeTarget(pool, orgId, { id: newId(bucketOf(full), nowMs), kind: "mailbox" });
  await pool.query("analyze events, messages");
  for (const order of ["asc", "desc"] as const) {
    const plans = await explain({ ...base, orgId, status: "UNREAD", order });
    expect(plans.flatMap((plan) => wholeReads(plan, stores))).toEqual([]);
    expect(blocksOf(plans)).toBeLessThan(mostFreeBlocks);
  }
});
