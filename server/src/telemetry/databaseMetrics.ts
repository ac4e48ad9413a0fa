import type pg from "pg";
import { Gauge, type Registry } from "prom-client";

const gauges = {
  postrider_due_deliveries: "Deliveries that are due now and leased by nobody (counted up to some 100,000).",
  postrider_waiting_deliveries:
    "Rows of the hot table, estimated: due, leased, and waiting for a retry. Items accepted together share a row.",
  postrider_leased_deliveries: "Deliveries that some node works on.",
  postrider_oldest_due_seconds: "How long the oldest due delivery has been due.",
  postrider_dead_tuples: "Dead rows of the hot table that wait for vacuum.",
  postrider_hot_table_bytes: "Size of the hot table with its indexes.",
  postrider_oldest_xmin_age: "Age in transactions of the oldest snapshot; it pins dead rows.",
} as const;

/** Asked at most this often, however often `/metrics` is read. */
const freshForMs = 5_000;

/** Gauges of what the database holds, the same from every node. They keep their last value while it is away. */
export function registerDatabaseMetrics(registry: Registry, pool: pg.Pool): void {
  let readAtMs = -Infinity;
  let reading: Promise<void> | undefined;
  const values = new Map<string, number>();

  async function read(): Promise<void> {
    if (performance.now() - readAtMs < freshForMs) return;
    reading ??= readValues(pool)
      .then((row) => {
        for (const [name, value] of Object.entries(row)) values.set(name, Number(value ?? 0));
        readAtMs = performance.now();
      })
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    await reading;
  }

  for (const [name, help] of Object.entries(gauges)) {
    void new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        await read();
        const value = values.get(name);
        if (value !== undefined) this.set(value);
      },
    });
  }
}

async function readValues(pool: pg.Pool): Promise<Record<string, unknown>> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `with now as (
       select extract(epoch from clock_timestamp()) * 1000 as ms
     ),
     due as (
       select coalesce(sum(d.items), 0) as count, min(d.due_at) as oldest
       from (
         select due_at, cardinality(event_ids) as items
         from deliveries, now
         where lease_until is null
           and due_at <= now.ms
         limit 100000
       ) d
     )
     select
       due.count as postrider_due_deliveries,
       greatest(0, (now.ms - due.oldest) / 1000) as postrider_oldest_due_seconds,
       (select coalesce(sum(cardinality(event_ids)), 0) from deliveries where lease_until is not null) as postrider_leased_deliveries,
       (select greatest(0, n_live_tup) from pg_stat_user_tables where relid = 'deliveries'::regclass)
         as postrider_waiting_deliveries,
       (select n_dead_tup from pg_stat_user_tables where relid = 'deliveries'::regclass) as postrider_dead_tuples,
       pg_total_relation_size('deliveries') as postrider_hot_table_bytes,
       (select max(age(backend_xmin)) from pg_stat_activity where backend_xmin is not null)
         as postrider_oldest_xmin_age
     from due, now`,
  );
  return rows[0]!;
}
