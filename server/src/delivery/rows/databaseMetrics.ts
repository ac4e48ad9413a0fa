import type pg from "pg";
import type { Registry } from "prom-client";
import { gaugesOn, keepReading } from "../../telemetry/processMetrics.ts";
import { circuitMemoryMs } from "./openCircuits.ts";
import { waitingTargets } from "./waitingTargets.ts";

const gauges = {
  postrider_due_deliveries: "Deliveries that are due and not leased (counted up to about 100,000).",
  postrider_held_deliveries:
    "Deliveries that wait for their target to be enabled again (counted up to some 100,000).",
  postrider_waiting_deliveries:
    "Rows of the hot table, estimated: due, leased, and waiting for a retry. Items accepted together share a row.",
  postrider_leased_deliveries: "Deliveries leased by a node.",
  postrider_oldest_due_seconds:
    "How long the oldest due delivery has been due, of targets whose circuit is not open.",
  postrider_dead_tuples: "Dead rows of the hot table that wait for vacuum.",
  postrider_hot_table_bytes: "Size of the hot table with its indexes.",
  postrider_oldest_xmin_age: "Age in transactions of the oldest snapshot; it pins dead rows.",
} as const;

/**
 * Gauges of the database's content. Every process reports the same values, so they must not be summed over processes. While the
 * database is unreachable, they keep their last value.
 */
export function registerDatabaseMetrics(registry: Registry, pool: pg.Pool): void {
  const values = keepReading(() => readValues(pool));
  const gauge = gaugesOn(registry);
  for (const [name, help] of Object.entries(gauges)) {
    const read = async (): Promise<number | undefined> => {
      const present = await values();
      return present && Number(present[name] ?? 0);
    };
    gauge(name, help, read, "max");
  }
}

async function readValues(pool: pg.Pool): Promise<Record<string, unknown>> {
  const waiting = await pool.query<Record<string, unknown>>(waitingText);
  const table = await pool.query<Record<string, unknown>>(tableText);
  return { ...waiting.rows[0]!, ...table.rows[0]! };
}

/** SQL: the number of items in each row that waits for target `t`. */
const itemsOfTarget = `
  select cardinality(d.event_ids) as items
  from deliveries d
  where d.bucket = t.bucket
    and d.target_id = t.target_id
    and d.lease_until is null`;

/**
 * Reads up to 10,000 waiting targets. Counts per target, so that the search for due items does not scan items held for disabled
 * targets.
 */
const waitingText = `
  with recursive now as (
    select extract(epoch from clock_timestamp()) * 1000 as ms
  ),
  ${waitingTargets},
  target as materialized (
    select w.bucket, w.target_id, w.due_at, coalesce(t.enabled, true) as enabled
    from waiting w
    left join targets t on t.id = w.target_id
    where w.bucket >= 0
    limit 10000
  ),
  due as (
    select coalesce(sum(d.items), 0) as count
    from (
      select d.items
      from now
      join target t on t.enabled and t.due_at <= now.ms
      cross join lateral (${itemsOfTarget} and d.due_at <= now.ms) d
      limit 100000
    ) d
  ),
  held as (
    select coalesce(sum(d.items), 0) as count
    from (
      select d.items
      from target t
      cross join lateral (${itemsOfTarget}) d
      where not t.enabled
      limit 100000
    ) d
  )
  select
    due.count as postrider_due_deliveries,
    held.count as postrider_held_deliveries,
    (
      select greatest(0, (now.ms - min(t.due_at)) / 1000)
      from target t
      where t.enabled
        -- Items of a target that keeps failing wait for its probes, not for the service.
        and not exists (
          select
          from open_circuits c
          where c.bucket = t.bucket
            and c.target_id = t.target_id
            and c.open_until > now.ms - ${circuitMemoryMs}
        )
    ) as postrider_oldest_due_seconds,
    (
      select coalesce(sum(cardinality(event_ids)), 0)
      from deliveries
      where lease_until is not null
    ) as postrider_leased_deliveries
  from due, held, now`;

/** A separate statement, because Citus cannot plan a recursive query that also reads catalogues. */
const tableText = `
  select
    (
      select greatest(0, n_live_tup)
      from pg_stat_user_tables
      where relid = 'deliveries'::regclass
    ) as postrider_waiting_deliveries,
    (select n_dead_tup from pg_stat_user_tables where relid = 'deliveries'::regclass) as postrider_dead_tuples,
    pg_total_relation_size('deliveries') as postrider_hot_table_bytes,
    (
      select max(age(backend_xmin))
      from pg_stat_activity
      where backend_xmin is not null
    ) as postrider_oldest_xmin_age`;
