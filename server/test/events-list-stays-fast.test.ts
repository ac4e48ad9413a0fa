import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "kysely";
import type pg from "pg";
import { newRootId } from "../src/postgres/ids.ts";
import { dayMs } from "../src/postgres/partitions.ts";
import { createPool } from "../src/postgres/pool.ts";
import { createQueries, type Queries } from "../src/postgres/tables.ts";
import type { EventFilter } from "../src/events/eventFilter.ts";
import { inSnapshot, listEvents, listIds } from "../src/events/listEvents.ts";
import { eventStatuses } from "../src/items/eventStatuses.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { type ManyEvents, storeManyEvents } from "./support/manyEvents.ts";

/*
 * The plan of every list over a million events: it reads no table from end to end, and no more pages of the
 * database than a page of 50 can need, however many events there are.
 */

let database: TestDatabase;
let pool: pg.Pool;
let queries: Queries;
let many: ManyEvents;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 2, onError: () => undefined });
  queries = createQueries(pool);
  many = await storeManyEvents(pool, 1_000_000);
}, 600_000);

afterAll(async () => {
  await pool.end();
  await database.drop();
});

interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: Plan[];
}

/** The plans of the statements that find a page. */
async function explain(filter: EventFilter): Promise<Plan[]> {
  return inSnapshot(queries, async (snapshot) => {
    const plans: Plan[] = [];
    await listIds(snapshot, filter, async (statement) => {
      const { rows } = await sql<{ "QUERY PLAN": [{ Plan: Plan }] }>`
        explain (analyze, buffers, timing off, format json) ${statement}
      `.execute(snapshot);
      plans.push(rows[0]!["QUERY PLAN"][0].Plan);
      return (await statement.execute(snapshot)).rows;
    });
    return plans;
  });
}

/** Stores that were read from end to end. The days ahead have empty partitions, which cost nothing. */
function wholeReads(plan: Plan): string[] {
  const below = (plan.Plans ?? []).flatMap(wholeReads);
  const table = plan["Relation Name"] ?? "";
  const isStore = /^(events|attempts|settlements|deliveries|messages|closed_messages)/.test(table);
  return plan["Node Type"] === "Seq Scan" && blocksOf(plan) > 0 && isStore ? [...below, table] : below;
}

function allBlocks(plans: readonly Plan[]): number {
  return plans.reduce((sum, plan) => sum + blocksOf(plan), 0);
}

function blocksOf(plan: Plan): number {
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

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

function filterOf({ status, of, also, from }: Case): EventFilter {
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
 * A page of 50 touches a few pages of the database per row and per partition. Of two things that are looked for together,
 * the rarer one decides: each of its thousand events is looked up in up to three tables. What is unread is sorted.
 */
function mostBlocks({ also, status }: Case): number {
  if (also === "alone") return 2_500;
  return status === "UNREAD" ? 100_000 : 35_000;
}

test.each(cases)("$status of the $of, $also, from the $from", async (one) => {
  const plans = await explain(filterOf(one));
  expect(plans.flatMap(wholeReads)).toEqual([]);
  expect(allBlocks(plans)).toBeLessThan(mostBlocks(one));
});

test("what came last does not matter to what of a target is DELIVERED", async () => {
  const filter: EventFilter = {
    ...base,
    orgId: many.orgId,
    targetId: many.lateWebhookId,
    status: "DELIVERED",
  };
  const plans = await explain(filter);
  expect(plans).toHaveLength(1);
  expect(plans.flatMap(wholeReads)).toEqual([]);
  expect(allBlocks(plans)).toBeLessThan(2_500);
  const { events } = await listEvents(queries, filter);
  expect(events.map((event) => event.status)).toEqual(Array.from({ length: 50 }, () => "DELIVERED"));
});

test("what a replay of many made is found by the replay, alone and with a status", async () => {
  const replayId = newRootId(Date.now());
  const { rows } = await pool.query<{ id: string }>(
    `update events
     set replay_id = $1
     where id = any (array(select id from events where org_id = $2 and kind = 1 order by id limit 40 offset 300000))
     returning id`,
    [replayId, many.orgId],
  );
  expect(rows).toHaveLength(40);
  const filter: EventFilter = { ...base, orgId: many.orgId, replayId };
  for (const more of [{}, { order: "asc" }, { status: "DELIVERED" }, { targetId: many.webhookId }] as const) {
    const plans = await explain({ ...filter, ...more });
    expect(plans.flatMap(wholeReads)).toEqual([]);
    expect(allBlocks(plans)).toBeLessThan(10_000);
  }
  expect((await listEvents(queries, filter)).events).toHaveLength(40);
});

test("statuses that exist fill their page, from both ends", async () => {
  const empty: string[] = [];
  for (const status of eventStatuses) {
    const of = ["UNREAD", "CLAIMED", "ACKNOWLEDGED", "EXPIRED", "DEAD"].includes(status)
      ? "mailbox"
      : "webhook";
    for (const scope of ["organization", of] as const) {
      for (const from of ["newest", "oldest"] as const) {
        const { events } = await listEvents(queries, filterOf({ status, of: scope, also: "alone", from }));
        if (events.length !== 50 || events.some((event) => event.status !== status))
          empty.push(`${status} ${scope} ${from}`);
      }
    }
  }
  expect(empty).toEqual([]);
});
