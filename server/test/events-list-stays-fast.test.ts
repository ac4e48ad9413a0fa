import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "kysely";
import type pg from "pg";
import { dayMs } from "../src/postgres/partitions.ts";
import { createPool } from "../src/postgres/pool.ts";
import { createQueries, type Queries } from "../src/postgres/tables.ts";
import { choosePage, inSnapshot, listEvents } from "../src/events/listEvents.ts";
import type { EventFilter } from "../src/events/pageStatement.ts";
import { eventStatuses } from "../src/events/statuses.ts";
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
});

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

/** The plan of the statement that finds the page; undefined when nothing need be asked. */
async function explain(filter: EventFilter): Promise<Plan | undefined> {
  return inSnapshot(queries, async (snapshot) => {
    const statement = await choosePage(snapshot, filter);
    if (statement === undefined) return undefined;
    const { rows } = await sql<{ "QUERY PLAN": [{ Plan: Plan }] }>`
      explain (analyze, buffers, timing off, format json) ${statement}
    `.execute(snapshot);
    return rows[0]!["QUERY PLAN"][0].Plan;
  });
}

/** Stores that were read from end to end. The days ahead have empty partitions, which cost nothing. */
function wholeReads(plan: Plan): string[] {
  const below = (plan.Plans ?? []).flatMap(wholeReads);
  const table = plan["Relation Name"] ?? "";
  const isStore = /^(events|attempts|settlements|deliveries|messages|closed_messages)/.test(table);
  return plan["Node Type"] === "Seq Scan" && blocksOf(plan) > 0 && isStore ? [...below, table] : below;
}

function blocksOf(plan: Plan): number {
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

interface Case {
  status: EventFilter["status"];
  of: "organization" | "webhook" | "mailbox";
  correlated: boolean;
  before: boolean;
}

const cases: Case[] = [undefined, ...eventStatuses].flatMap((status) =>
  (["organization", "webhook", "mailbox"] as const).flatMap((of) =>
    [false, true].flatMap((correlated) =>
      [false, true].map((before) => ({ status, of, correlated, before })),
    ),
  ),
);

function filterOf({ status, of, correlated, before }: Case): EventFilter {
  return {
    orgId: many.orgId,
    mailboxRetentionMs: 7 * dayMs,
    limit: 50,
    offset: 0,
    status,
    ...(of !== "organization" && { targetId: of === "webhook" ? many.webhookId : many.mailboxId }),
    ...(correlated && { correlationId: many.correlationId }),
    ...(before && { before: many.middleId }),
  };
}

/**
 * A page of 50 touches a few pages of the database per row and per partition. The walk through a correlation's
 * thousand events looks each of them up in up to three tables.
 */
function mostBlocks({ correlated, status }: Case): number {
  // The dead are sorted, all of them: they are few where anybody looks after them.
  if (status === "DEAD") return 10_000;
  if (correlated) return status === undefined ? 2_500 : 20_000;
  return 2_000;
}

test.each(cases)("$status of the $of, correlated: $correlated, before: $before", async (one) => {
  const plan = await explain(filterOf(one));
  if (plan === undefined) return;
  expect(wholeReads(plan)).toEqual([]);
  expect(blocksOf(plan)).toBeLessThan(mostBlocks(one));
});

test("statuses that exist fill their page", async () => {
  const empty: string[] = [];
  for (const status of eventStatuses) {
    const of = ["UNREAD", "CLAIMED", "ACKNOWLEDGED", "EXPIRED", "DEAD"].includes(status)
      ? "mailbox"
      : "webhook";
    for (const scope of ["organization", of] as const) {
      const events = await listEvents(
        queries,
        filterOf({ status, of: scope, correlated: false, before: false }),
      );
      if (events.length !== 50 || events.some((event) => event.status !== status))
        empty.push(`${status} ${scope}`);
    }
  }
  expect(empty).toEqual([]);
});
