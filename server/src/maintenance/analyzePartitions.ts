import type pg from "pg";

/** `ANALYZE ONLY` leaves the partitions out; before it, the parent could not be analyzed without them. */
const firstWithOnly = 180_000;

/**
 * Refreshes the planner's statistics of partitioned tables, which autovacuum never visits, and of partitions that have
 * changed since theirs were made, or of which nothing is known, as after a crash. Empty ones are left alone: statistics of an
 * empty table lead to sequential scans, and the cached plans of prepared statements keep them when the partition's day
 * comes and it fills.
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
    if (!isParent) await pool.query(`analyze ${name}`);
    else if (canOnly) await pool.query(`analyze only ${name}`);
  }
}
