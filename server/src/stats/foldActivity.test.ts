import { expect } from "vitest";
import { databaseTest, file } from "../../test/support/fixtures.ts";
import { percentiles } from "../items/latencyRanges.ts";
import { newId } from "../postgres/ids.ts";
import { foldActivity, forgetActivity } from "./foldActivity.ts";
import { readStats } from "./readStats.ts";
import { rangeOf } from "./steps.ts";

const it = databaseTest().extend(
  "fold",
  file,
  ({ pool }) =>
    (): Promise<unknown> =>
      foldActivity(pool),
);

it("steps are deleted after their retention, the finest first", async ({ pool }) => {
  const scope = newId(1, Date.now());
  const nowSeconds = Math.floor(Date.now() / 1000);
  await pool.query(
    `insert into activity_steps (
       scope_id, org_id, step, at, accepted, delivered, retried, failed, latency_ranges, latency_counts
     )
     select $1, $1, s, $2::bigint / s * s, 1, 1, 0, 0, '{}', '{}'
     from unnest('{60,300,3600,86400}'::integer[]) as s`,
    [scope, nowSeconds - 3 * 86_400],
  );
  expect(await forgetActivity(pool)).toBe(1);
  const { rows } = await pool.query("select step from activity_steps where scope_id = $1 order by step", [
    scope,
  ]);
  expect(rows.map(({ step }) => step)).toEqual([300, 3600, 86_400]);
});

it("folding adds latencies, range by range", async ({ pool, fold }) => {
  const [target, orgId] = [newId(1, Date.now()), newId(2, Date.now())];
  const add = (latencies: number[]) =>
    pool.query(
      `insert into target_activity (bucket, delivered, target_id, org_id, at_ms, latencies)
       values (1, $2, $1, $4, extract(epoch from now()) * 1000, $3)`,
      [target, latencies.length, latencies, orgId],
    );
  await add([3, 3, 7]);
  await add([7]);
  await fold();
  await add([3, 9]);
  await fold();
  const { rows } = await pool.query<{ latency_ranges: number[]; latency_counts: string[] }>(
    "select latency_ranges, latency_counts from activity_steps where scope_id = $1 and step = 86400",
    [target],
  );
  const counts = new Map<number, number>();
  for (const { latency_ranges: ranges, latency_counts: numbers } of rows) {
    ranges.forEach((range, index) => counts.set(range, (counts.get(range) ?? 0) + Number(numbers[index])));
  }
  expect([...counts].sort(([a], [b]) => a - b)).toEqual([
    [3, 3],
    [7, 2],
    [9, 1],
  ]);
  const nowSeconds = Math.floor(Date.now() / 1000);
  // In the first second of a minute, the range would end before it.
  const range = rangeOf({ from: nowSeconds - 3600 }, nowSeconds + 1);
  const { totals } = await readStats(pool, { orgId, targetId: target }, range);
  const middle = (range: number) => percentiles({ ranges: [range], counts: [1] }, [1])![0];
  expect(totals.latency_ms).toEqual({ p50: middle(3), p95: middle(9), p99: middle(9) });
});

it("statistics are the same before and after folding, and after an older version has added to a step", async ({
  pool,
  fold,
}) => {
  const [target, orgId] = [newId(1, Date.now()), newId(2, Date.now())];
  const nowSeconds = Math.floor(Date.now() / 1000);
  const hours = rangeOf({ from: nowSeconds - 5 * 3600, step: 60 }, nowSeconds + 1);
  // Activity in the minutes of more than three hours, each with other latencies.
  await pool.query(
    `insert into target_activity (bucket, delivered, target_id, org_id, at_ms, latencies)
     select 1, 3, $1::uuid, $2::uuid, ($3::bigint - m * 60) * 1000, array[m % 7, m % 60, 40 + m % 11]::smallint[]
     from generate_series(0, 200) as m
     union all
     select 1, 1, $1::uuid, $2::uuid, ($3::bigint - m * 60) * 1000, array[90]::smallint[]
     from generate_series(0, 200, 13) as m`,
    [target, orgId, nowSeconds],
  );
  const read = (targetId?: string) => readStats(pool, { orgId, targetId }, hours);
  const unfolded = await read(target);
  expect(unfolded.points).toHaveLength(201);
  await fold();
  expect(await read(target)).toEqual(unfolded);
  expect(await read()).toEqual(unfolded);
  await pool.query(
    `update activity_steps
     set delivered = delivered + 1,
       latency_ranges = latency_ranges || 99::smallint,
       latency_counts = latency_counts || 1::bigint
     where scope_id = $1`,
    [target],
  );
  const { points, totals } = await read(target);
  expect(totals.delivered).toBe(unfolded.totals.delivered + 201);
  const slowest = percentiles({ ranges: [99], counts: [1] }, [1])![0];
  expect(new Set(points.map(({ latency_ms: latency }) => latency?.p99))).toEqual(new Set([slowest]));
});
