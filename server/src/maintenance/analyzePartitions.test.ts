import { expect } from "vitest";
import type pg from "pg";
import { databaseTest, testPool } from "../../test/support/fixtures.ts";
import { countLockWaits } from "../../test/support/heldLocks.ts";
import { until } from "../../test/support/until.ts";
import { newId } from "../postgres/ids.ts";
import { dayMs, dayName, ensurePartitions } from "../postgres/partitions.ts";
import { analyzePartitions } from "./analyzePartitions.ts";

const it = databaseTest({ poolSize: 1 });

it("a partition is analyzed when it has changed, and not again until it changes", async ({ pool }) => {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  const yesterday = `settlements_${dayName(Math.floor(nowMs / dayMs) - 1)}`;
  const today = `settlements_${dayName(Math.floor(nowMs / dayMs))}`;
  await settle(pool, nowMs - dayMs);
  await settle(pool, nowMs);
  await analyzePartitions(pool);
  expect(await timesAnalyzed(pool)).toEqual({ [yesterday]: 1, [today]: 1 });
  await settle(pool, nowMs);
  await analyzePartitions(pool);
  await analyzePartitions(pool);
  expect(await timesAnalyzed(pool)).toEqual({ [yesterday]: 1, [today]: 2 });
});

async function settle(pool: pg.Pool, ms: number): Promise<void> {
  await pool.query(
    `insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
     values (1, 'FAILED', $1, gen_random_uuid(), gen_random_uuid(), $2)`,
    [newId(1, ms), ms],
  );
  // A session reports its statistics once a second, or at once on demand.
  await pool.query("select pg_stat_force_next_flush()");
}

async function timesAnalyzed(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ name: string; times: number }>(
    `select c.relname as name, pg_stat_get_analyze_count(c.oid)::integer as times
     from pg_class c
     where c.relname like 'settlements_2%'
       and c.relkind = 'r'
       and pg_stat_get_analyze_count(c.oid) > 0`,
  );
  return Object.fromEntries(rows.map(({ name, times }) => [name, times]));
}

it("new partitions have no statistics of the columns that ANALYZE skips in their parent", async ({
  pool,
}) => {
  await ensurePartitions(pool, Date.now() + 30 * dayMs);
  const { rows } = await pool.query<{ partition: string; column: string }>(
    `select i.inhrelid::regclass::text as partition, a.attname as column
     from pg_inherits i
     join pg_class c on c.oid = i.inhrelid and c.relkind = 'r'
     join pg_attribute parent on parent.attrelid = i.inhparent and parent.attstattarget = 0
     join pg_attribute a on a.attrelid = i.inhrelid and a.attname = parent.attname
     where a.attstattarget is distinct from 0`,
  );
  expect(rows).toEqual([]);
});

it("a partition that is dropped meanwhile is left out", async ({ pool, database, onTestFinished }) => {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  await settle(pool, nowMs - dayMs);
  const other = testPool(database, 2);
  onTestFinished(() => other.end());
  const holder = await other.connect();
  await holder.query("begin; lock table only events in share update exclusive mode");
  const analyzing = analyzePartitions(pool);
  await until(
    () => countLockWaits(other),
    (waits) => waits === 1,
  );
  await other.query(`drop table settlements_${dayName(Math.floor(nowMs / dayMs) - 1)}`);
  await holder.query("commit");
  holder.release();
  await expect(analyzing).resolves.toBeUndefined();
});
