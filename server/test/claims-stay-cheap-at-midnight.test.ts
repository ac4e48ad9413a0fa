import { expect } from "vitest";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { dayMs, dayName, ensurePartitions } from "../src/postgres/partitions.ts";
import { analyzePartitions } from "../src/maintenance/analyzePartitions.ts";
import { file, databaseTest } from "./support/fixtures.ts";

/*
 * Sessions keep their query plans across midnight: a plan made while the new day's partition was empty must not
 * scan the whole partition once it fills, however long statistics take to follow.
 */

// One session, whose plans are cached.
const it = databaseTest({ poolSize: 1 })
  /** Claims up to 50 deliveries and returns the number of pages read. */
  .extend("claim", file, ({ pool }) => async (): Promise<number> => {
    const { rows } = await pool.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `explain (analyze, buffers, timing off, format json)
     select *
     from claim_deliveries(
       20000, 7, -1::smallint, '00000000-0000-0000-0000-000000000000', '{}', '{}', 50, 50, 50, 200, null, false
     )`,
    );
    const plan = rows[0]!["QUERY PLAN"][0].Plan;
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  })
  /** Stores events of that many organizations, and makes some of them due. */
  .extend(
    "store",
    file,
    ({ pool }) =>
      async (target: string, atMs: number, count: number, due: number): Promise<void> => {
        const first = newId(bucketOf(target), atMs);
        await pool.query(
          `with made as (
       insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
       select $1, 1, 8, true, $2, overlay($3 placing lpad(to_hex(n), 8, '0') from 17 for 8)::uuid, gen_random_uuid(), '{}'
       from generate_series(1, $4) as n
       returning id, org_id
     )
     insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select $1, 1, id, $2, org_id, 1, array[id]
     from made
     limit $5`,
          [bucketOf(target), target, first, count, due],
        );
      },
  );

interface Plan {
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
}

it("a claim of the new day's deliveries reads each event by its primary key", async ({
  pool,
  store,
  claim,
}) => {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  const tomorrowMs = nowMs + dayMs;
  const tomorrow = `events_${dayName(Math.floor(tomorrowMs / dayMs))}`;
  await pool.query(`alter table ${tomorrow} set (autovacuum_enabled = off)`);
  const org = newId(0, nowMs);
  const target = newId(3, nowMs);
  await pool.query("insert into organizations values ($1, 'o', 'o', 'active', null, 0)", [org]);
  await pool.query(
    `insert into targets (id, org_id, kind, name, url, secret, created_at, updated_at)
     values ($1, $2, 'webhook', 't', 'https://example.com/', '\\x00', 0, 0)`,
    [target, org],
  );
  await store(target, nowMs, 50, 50);
  await analyzePartitions(pool);
  // −1 means "unknown"; the planner then assumes a table that is large enough for an index scan.
  const statistics = await pool.query("select reltuples from pg_class where relname = $1", [tomorrow]);
  expect(statistics.rows).toEqual([{ reltuples: -1 }]);
  await claim();
  await store(target, tomorrowMs, 20_000, 100);
  // About twenty pages per delivery: the lease's new row version, its index entries and the event. The minimum of
  // two claims, because one may also read the catalogue when autovacuum has just analyzed a table and plans are
  // rebuilt.
  expect(Math.min(await claim(), await claim())).toBeLessThan(50 * 40);
  const { rows } = await pool.query("select 1 from deliveries where lease_until is null");
  expect(rows).toHaveLength(0);
});
