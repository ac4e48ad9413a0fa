import { expect } from "vitest";
import { firstIdAt, newId } from "../postgres/ids.ts";
import { dayMs, dayName, ensurePartitions, tablesById } from "../postgres/partitions.ts";
import { foldActivity } from "../stats/foldActivity.ts";
import { dropOldPartitions } from "./dropOldPartitions.ts";
import { file, databaseTest } from "../../test/support/fixtures.ts";
import { largestDeletion } from "../../test/support/largestDeletion.ts";
import { until } from "../../test/support/until.ts";

const nowMs = Date.now();
const target = newId(7, nowMs);

const it = databaseTest({ poolSize: 4 })
  .extend("storeEvent", file, ({ pool }) => async (atMs: number): Promise<string> => {
    const id = newId(7, atMs);
    await pool.query(
      `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
     values (7, 1, 8, true, $1, $2, $1, '{}')`,
      [target, id],
    );
    await pool.query(
      `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     values (7, 1, $1, $2, $2, $3, array[$1::uuid])`,
      [id, target, atMs],
    );
    return id;
  })
  .extend("ids", file, ({ pool }) => async (table: string, column: string): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>(
      `select ${column} as id from ${table} order by ${column}`,
    );
    return rows.map((row) => row.id);
  });

it("whole days past retention are dropped with their waiting deliveries; all later days stay", async ({
  storeEvent,
  pool,
  ids,
}) => {
  const today = await storeEvent(nowMs);
  const laterMs = nowMs + 40 * dayMs;
  expect(await ensurePartitions(pool, laterMs)).toBe(9 * (tablesById.length + 1));
  const later = await storeEvent(laterMs);

  const kept = await dropOldPartitions(pool, { retentionDays: 60, nowMs: laterMs });
  expect(kept.deliveries).toBe(0);
  expect(await ids("events", "id")).toEqual([today, later]);

  const dropped = await dropOldPartitions(pool, { retentionDays: 30, nowMs: laterMs, isConfirmed: true });
  expect(dropped.deliveries).toBe(1);
  expect(dropped.partitions).toBeGreaterThanOrEqual(tablesById.length);
  expect(await ids("events", "id")).toEqual([later]);
  expect(await ids("deliveries", "id")).toEqual([later]);
  expect(await dropOldPartitions(pool, { retentionDays: 30, nowMs: laterMs })).toEqual({
    partitions: 0,
    deliveries: 0,
    heldDays: 0,
  });
});

it("partitions are created a week ahead, and only once", async ({ pool, storeEvent }) => {
  expect(await ensurePartitions(pool, nowMs + 41 * dayMs)).toBe(tablesById.length + 1);
  expect(await ensurePartitions(pool, nowMs + 41 * dayMs)).toBe(0);
  await storeEvent(nowMs + 47 * dayMs);
  const atMidnight = await Promise.all([1, 2, 3].map(() => ensurePartitions(pool, nowMs + 60 * dayMs)));
  expect(Math.max(...atMidnight)).toBe(9 * (tablesById.length + 1));
});

it("no more than two days are dropped within 24 hours, the oldest first, unless an operator confirms it", async ({
  pool,
  storeEvent,
  ids,
}) => {
  const laterMs = nowMs + 200 * dayMs;
  await dropOldPartitions(pool, { retentionDays: 30, nowMs: laterMs, isConfirmed: true });
  await ensurePartitions(pool, laterMs);
  const days = [];
  for (let day = -1; day <= 7; day++) days.push(await storeEvent(laterMs + day * dayMs));
  const retention = { retentionDays: 1, nowMs: laterMs + 8 * dayMs };
  expect(await dropOldPartitions(pool, retention)).toMatchObject({ deliveries: 2, heldDays: 6 });
  expect(await ids("events", "id")).toEqual(days.slice(2));
  // Deliveries of the kept days still wait.
  expect(await ids("deliveries", "id")).toEqual(days.slice(2));
  expect(await dropOldPartitions(pool, retention)).toEqual({ partitions: 0, deliveries: 0, heldDays: 6 });

  // Simulates the next 24 hours.
  await pool.query("update rate_limits set window_start = window_start - 86400 where scope = 'retention'");
  expect(await dropOldPartitions(pool, retention)).toMatchObject({ deliveries: 2, heldDays: 4 });

  const confirmed = await dropOldPartitions(pool, { ...retention, isConfirmed: true });
  expect(confirmed).toMatchObject({ deliveries: 4, heldDays: 0 });
  expect(await ids("events", "id")).toEqual(days.slice(8));
});

it("a day that could not be dropped does not count towards the two days", async ({ pool }) => {
  const laterMs = nowMs + 400 * dayMs;
  await dropOldPartitions(pool, { retentionDays: 1, nowMs: laterMs, isConfirmed: true });
  await ensurePartitions(pool, laterMs);
  await pool.query("delete from rate_limits where scope = 'retention'");
  const retention = { retentionDays: 1, nowMs: laterMs + 4 * dayMs };
  const oldest = `events_${dayName(Math.floor(laterMs / dayMs) - 1)}`;
  await pool.query(`create view held as select id from ${oldest}`);
  for (let tries = 0; tries < 3; tries++) {
    // The lock of a failed attempt ends with its session, shortly after the disconnect.
    await until(async () => {
      const outcome = await dropOldPartitions(pool, retention).catch((error: Error) => error.message);
      return typeof outcome === "string" && outcome.includes("other objects depend on it");
    });
  }
  await pool.query("drop view held");
  await until(async () => (await dropOldPartitions(pool, retention)).heldDays === 2);
});

it("many deliveries that wait past retention end in bounded statements", async ({ pool }) => {
  const laterMs = nowMs + 500 * dayMs;
  await dropOldPartitions(pool, { retentionDays: 1, nowMs: laterMs, isConfirmed: true });
  await ensurePartitions(pool, laterMs);
  await pool.query(
    `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select 7, 1, i.id, $1, $1, $3, array[i.id]
     from generate_series(1, 20500) n
     cross join lateral (select (left($2::text, 20) || lpad(to_hex(n), 12, '0'))::uuid as id) i`,
    [target, firstIdAt(laterMs), laterMs],
  );
  const largest = await largestDeletion(pool, "deliveries");
  const retention = { retentionDays: 1, nowMs: laterMs + 4 * dayMs, isConfirmed: true };
  expect((await dropOldPartitions(pool, retention)).deliveries).toBe(20_500);
  expect(await largest()).toBe(20_000);
});

it("days are dropped also while activity is folded", async ({ pool }) => {
  const laterMs = nowMs + 600 * dayMs;
  await dropOldPartitions(pool, { retentionDays: 1, nowMs: laterMs, isConfirmed: true });
  await ensurePartitions(pool, laterMs);
  await pool.query("delete from rate_limits where scope = 'retention'");
  const holder = await pool.connect();
  await holder.query("begin");
  await holder.query("lock table target_activity in exclusive mode");
  const folding = foldActivity(pool);
  try {
    await until(async () => {
      const { rowCount } = await pool.query(
        "select from pg_locks where not granted and relation = 'target_activity'::regclass",
      );
      return rowCount === 1;
    });
    const retention = { retentionDays: 1, nowMs: laterMs + 4 * dayMs };
    expect((await dropOldPartitions(pool, retention)).partitions).toBeGreaterThan(0);
  } finally {
    await holder.query("rollback");
    holder.release();
    await folding;
  }
});
