import type pg from "pg";

/** Refreshes the planner's statistics of partitioned tables, which autovacuum never visits. */
export async function analyzePartitions(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    "select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'p' and n.nspname = current_schema()",
  );
  for (const { name } of rows) await pool.query(`analyze ${name}`);
}
