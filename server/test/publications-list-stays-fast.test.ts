import { sql } from "kysely";
import { expect } from "vitest";
import { inSnapshot } from "../src/events/listEvents.ts";
import { newId, newRootId } from "../src/postgres/ids.ts";
import { ensurePartitions } from "../src/postgres/partitions.ts";
import { publicationPage } from "../src/publications/readPublication.ts";
import { createQueries } from "../src/postgres/tables.ts";
import { databaseTest, file } from "./support/fixtures.ts";
import { blocksOf, type ExplainRow, explaining, type Plan, planIn, wholeReads } from "./support/plans.ts";

const stored = 20_000;
const orgId = newRootId(Date.now());

/*
 * The plan of a page of publications: it uses an index, also for a customer with few among very many publications,
 * in days whose statistics are from when they were empty.
 */
const it = databaseTest({ poolSize: 1 }).extend("explain", file, ({ pool }) => {
  const queries = createQueries(pool);
  return (query: Omit<Parameters<typeof publicationPage>[1], "limit">): Promise<Plan> =>
    inSnapshot(queries, async (snapshot) => {
      const page = publicationPage(orgId, { limit: 50, ...query });
      const { rows } = await sql<ExplainRow>`${sql.raw(explaining)} ${page}`.execute(snapshot);
      return planIn(rows);
    });
});

it("a page of publications reads no more than it shows, for any customer", async ({ pool, explain }) => {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  await pool.query("analyze publications");
  const first = newId(0, nowMs);
  await pool.query(
    `insert into publications (bucket, id, org_id, customer_uid, payload, event_ids)
     select 0, overlay($1::text placing lpad(to_hex(n), 8, '0') from 17 for 8)::uuid, $2,
       case when n % 5000 = 7 then 'rare' when n % 2 = 0 then 'common' end, '{}', '{}'
     from generate_series(1, $3::integer) as n`,
    [first, orgId, stored],
  );
  const middle = `${first.slice(0, 16)}${(stored / 2).toString(16).padStart(8, "0")}${first.slice(24)}`;
  for (const query of [
    {},
    { below: middle },
    { customer_uid: "rare" },
    { customer_uid: "rare", below: middle },
    { customer_uid: "common", below: middle },
    { customer_uid: "nobody" },
  ]) {
    const plan = await explain(query);
    expect([query, wholeReads(plan, /^publications/)]).toEqual([query, []]);
    // A row may be on its own database page, and each of a few days is read.
    expect(blocksOf([plan]), JSON.stringify(query)).toBeLessThan(150);
  }
  const { rows } = await publicationPage(orgId, { limit: 50, customer_uid: "rare" }).execute(
    createQueries(pool),
  );
  expect(rows).toHaveLength(4);
});
