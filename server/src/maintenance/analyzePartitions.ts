import type pg from "pg";

/** First version with `ANALYZE ONLY`. Before it, a parent could not be analyzed without its partitions. */
const firstWithOnly = 180_000;

/**
 * Refreshes the planner's statistics of partitioned tables, which autovacuum never visits, and of partitions that have
 * changed since they were last analyzed, or whose analysis time is unknown, as after a crash. Skips empty partitions:
 * statistics of an empty table lead to sequential scans, and cached plans of prepared statements keep these when the
 * partition's day comes and it fills.
 */
export async function analyzePartitions(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string; is_parent: boolean; can_only: boolean }>(
    `select c.oid::regclass::text as name, c.relkind = 'p' as is_parent,
       current_setting('server_version_num')::integer >= $1 as can_only
     from pg_class c
     where c.relnamespace = (select relnamespace from pg_class where oid = 'events'::regclass)
       and (
         c.relkind = 'p'
         or c.relispartition
           and c.relkind = 'r'
           and pg_relation_size(c.oid) > 0
           and (
             pg_stat_get_mod_since_analyze(c.oid) > 0
             or coalesce(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid)) is null
           )
       )`,
    [firstWithOnly],
  );
  for (const { name, is_parent: isParent, can_only: canOnly } of rows) {
    if (!isParent) await pool.query(`analyze ${name}`).catch(ignoreDropped);
    else if (canOnly) await pool.query(`analyze only ${name}`);
  }
}

/** Retention drops partitions meanwhile. */
function ignoreDropped(error: unknown): void {
  if ((error as { code?: string }).code !== "42P01") throw error;
}
