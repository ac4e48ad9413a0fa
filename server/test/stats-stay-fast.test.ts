import { expect } from "vitest";
import type pg from "pg";
import { int4Array, int8Array } from "../src/postgres/hot/binaryArray.ts";
import { callFunction } from "../src/postgres/hot/callFunction.ts";
import { newId } from "../src/postgres/ids.ts";
import { findMailbox } from "../src/mailbox/message/findMailbox.ts";
import { healthBounds, mailboxStats, statsBounds } from "../src/mailbox/view/mailboxStats.ts";
import { dayMs, ensurePartitions } from "../src/postgres/partitions.ts";
import { readHealths } from "../src/stats/readHealth.ts";
import { readStats } from "../src/stats/readStats.ts";
import { stepsKept } from "../src/stats/steps.ts";
import { blocksOf, type ExplainRow, explaining, type Plan, planIn, wholeReads } from "./support/plans.ts";
import { file, databaseTest } from "./support/fixtures.ts";
import { storeOrganization, storeTarget } from "./support/storedItems.ts";
import { tuplesRead } from "./support/tuplesRead.ts";

/*
 * The database pages that statistics and health read: no full scan of a table, and no more pages than an answer
 * needs. Many targets were busy for as long as steps are kept, one has a large backlog, and a mailbox has many
 * leased and dead messages.
 */

const orgId = newId(3, Date.now());
const targetId = newId(3, Date.now());
const mailboxId = newId(3, Date.now());
const nowSeconds = Math.floor(Date.now() / 1000);

const it = databaseTest({ poolSize: 1 })
  /** Runs a read with EXPLAIN before each of its statements, and returns their plans. */
  .extend(
    "plansOf",
    file,
    ({ pool }) =>
      async (read: (pool: pg.Pool) => Promise<unknown>): Promise<Plan[]> => {
        const plans: Plan[] = [];
        const watched = Object.create(pool) as pg.Pool;
        watched.query = (async (statement: { text: string; values: unknown[] }) => {
          const { rows } = await pool.query<ExplainRow>(`${explaining} ${statement.text}`, statement.values);
          plans.push(planIn(rows));
          return pool.query(statement);
        }) as typeof pool.query;
        await read(watched);
        return plans;
      },
  );

it.beforeAll(async ({ pool }) => {
  await storeOrganization(pool, orgId);
  await storeTarget(pool, orgId, { id: targetId });
  for (const { seconds } of stepsKept) {
    await pool.query(
      `insert into activity_steps (
         scope_id, org_id, step, at, accepted, delivered, retried, failed, last_attempt_at, last_success_at,
         latency_ranges, latency_counts
       )
       select s.id, $2, $3, $4::bigint / $3 * $3 - n * $3, 9, 9, 1, 0, 1, 1, '{20,21,22,23,24,25,30,40}'::smallint[], '{1,1,1,1,2,1,1,1}'::bigint[]
       from (values ($1::uuid), ($2)) as s (id)
       cross join generate_series(0, 1500) as n
       union all
       select gen_random_uuid(), $2, $3, $4::bigint / $3 * $3 - n * $3, 9, 9, 1, 0, 1, 1, '{20,30}'::smallint[], '{8,1}'::bigint[]
       from generate_series(0, 30000) as n`,
      [targetId, orgId, seconds, nowSeconds],
    );
  }
  await pool.query(
    `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select 3, 1, i.id, $1, $2, $3::bigint - n, array[i.id]
     from generate_series(1, 50000) as n
     cross join lateral (select gen_random_uuid() as id where n > 0) i`,
    [targetId, orgId, nowSeconds * 1000],
  );
  await storeTarget(pool, orgId, { id: mailboxId, kind: "mailbox" });
  await storeMessages(pool);
  await pool.query(
    "analyze activity_steps, deliveries, target_activity, mailbox_activity, messages, closed_messages",
  );
});

/** 15,000 claimed messages, and as many dead ones. */
async function storeMessages(pool: pg.Pool): Promise<void> {
  await ensurePartitions(pool, Date.now());
  const ids = `
    select n, (lpad(to_hex($2::bigint), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || lpad(to_hex(n), 13, '0') || '03')::uuid as id
    from generate_series(1, 15000) as n`;
  const values = [mailboxId, Date.now()];
  await pool.query(
    `insert into messages (bucket, state, claim_count, mailbox_id, id, claimable_at, claimed_by, claim_token)
     select 3, 2, 1, $1, i.id, $2::bigint + 3600000, i.id, i.id
     from (${ids}) i`,
    values,
  );
  await pool.query(
    `insert into closed_messages (
       bucket, dead, claim_count, mailbox_id, id, position, closed_at, claimed_by, claim_token, reason
     )
     select 3, true, 1, $1, i.id, i.n, $2, i.id, i.id, 'rejected'
     from (${ids}) i`,
    values,
  );
}

const large = /^(activity_steps|deliveries|events|attempts|delivered_groups|messages|closed_messages)/;

it.for(stepsKept.flatMap(({ seconds: step }) => [targetId, undefined].map((target) => ({ step, target }))))(
  "1,500 steps of $step s, of $target",
  async ({ step, target }, { pool }) => {
    const to = Math.floor(nowSeconds / step) * step + step;
    const range = { from: to - 1_500 * step, to, step };
    const before = await tuplesRead(pool, "activity_steps");
    const { points, totals } = await readStats(pool, { orgId, targetId: target }, range);
    expect(points).toHaveLength(1_500);
    expect(totals).toMatchObject({ delivered: 13_500, latency_ms: { p50: 7 } });
    // Each step is read as an index entry and as a row, once for the points and once for the totals.
    expect((await tuplesRead(pool, "activity_steps")) - before).toBeLessThanOrEqual(4 * 1_500);
  },
);

it("health counts a backlog up to its bound", async ({ plansOf }) => {
  const plans = await plansOf(async (watched) => {
    expect(await readHealths(watched, { orgId, ids: [targetId] })).toMatchObject([
      { due: 2_500, due_is_exact: false },
    ]);
  });
  expect(plans.flatMap((plan) => wholeReads(plan, large))).toEqual([]);
  expect(blocksOf(plans)).toBeLessThan(6_000);
});

it("the health of many targets reads activity that is not folded yet once", async ({ pool }) => {
  const ids = Array.from({ length: 20 }, () => newId(3, Date.now()));
  for (const id of ids) await storeTarget(pool, orgId, { id });
  await pool.query(
    `insert into target_activity (bucket, delivered, failed, target_id, org_id, at_ms)
     select 3, n % 2, 1 - n % 2, t.id, $2, $3::bigint - n
     from unnest($1::uuid[]) as t (id)
     cross join generate_series(0, 99) as n`,
    [ids, orgId, nowSeconds * 1000],
  );
  const before = await tuplesRead(pool, "target_activity");
  const healths = await readHealths(pool, { orgId, ids });
  expect((await tuplesRead(pool, "target_activity")) - before).toBe(2_000);
  expect(healths).toHaveLength(20);
  expect(healths[0]).toMatchObject({
    success_rate_24h: 0.5,
    last_attempt_at: nowSeconds,
    last_success_at: nowSeconds - 1,
  });
});

it("activity that is not folded yet is one row per step", async ({ pool }) => {
  const busy = newId(3, Date.now());
  await storeTarget(pool, orgId, { id: busy });
  await pool.query(
    `insert into target_activity (bucket, delivered, target_id, org_id, at_ms, latencies)
     select 3, 2, $1, $2, $3::bigint, array[20, 30]::smallint[]
     from generate_series(1, 1000)`,
    [busy, orgId, nowSeconds * 1000],
  );
  const at = Math.floor(nowSeconds / 60) * 60;
  const rows = await callFunction(pool, "activity_in_steps", {
    p_org_id: orgId,
    p_target_id: busy,
    p_step: 60,
    p_from: at,
    p_to: at + 60,
    p_piece_steps: int4Array([60]),
    p_piece_starts: int8Array([at]),
    p_piece_ends: int8Array([at + 60]),
  });
  expect(rows.filter((row) => row.at === at)).toHaveLength(1);
  const { totals } = await readStats(pool, { orgId, targetId: busy }, { from: at, to: at + 60, step: 60 });
  expect(totals).toMatchObject({ delivered: 2_000, latency_ms: { p50: 5, p95: 13 } });
});

it("a backlog of items that share rows is counted completely", async ({ pool }) => {
  const together = newId(3, Date.now());
  await storeTarget(pool, orgId, { id: together });
  await pool.query(
    `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select 3, 1, gen_random_uuid(), $1, $2, $3, array(select gen_random_uuid() from generate_series(1, 64) where n > 0)
     from generate_series(1, 300) as n`,
    [together, orgId, nowSeconds * 1000],
  );
  expect(await readHealths(pool, { orgId, ids: [together] })).toMatchObject([
    { due: 19_200, due_is_exact: true, held: 0 },
  ]);
  await pool.query("update targets set enabled = false where id = $1", [together]);
  expect(await readHealths(pool, { orgId, ids: [together] })).toMatchObject([
    { held: 19_200, due_is_exact: true },
  ]);
});

it.for([
  { name: "statistics", bounds: statsBounds, mostBlocks: 25_000 },
  { name: "health", bounds: healthBounds, mostBlocks: 10_000 },
])(
  "a mailbox's $name count leased and dead messages up to their bounds",
  async ({ bounds, mostBlocks }, { plansOf }) => {
    const plans = await plansOf(async (watched) => {
      const deps = { pool: watched, retentionMs: 90 * dayMs };
      const stats = await mailboxStats(deps, (await findMailbox(deps, orgId, mailboxId))!, bounds);
      const { elsewhere: claimed, dead } = bounds;
      expect(stats).toMatchObject({ claimed, dead, counts_are_exact: false });
    });
    expect(plans.flatMap((plan) => wholeReads(plan, large))).toEqual([]);
    expect(blocksOf(plans)).toBeLessThan(mostBlocks);
  },
);
