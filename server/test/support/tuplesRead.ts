import type pg from "pg";
import { until } from "./until.ts";

/**
 * Number of rows and index entries of a table that the transaction has read so far; a bitmap scan reads entries
 * whose rows it never visits. Includes unreported reads of the session's earlier transactions.
 */
export async function tuplesRead(pool: pg.Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ tuples: number }>(
    `select (
       coalesce(idx_tup_fetch, 0) + seq_tup_read + coalesce(
         (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index where indrelid = relid), 0
       )
     )::integer as tuples
     from pg_stat_xact_user_tables
     where relname = $1`,
    [table],
  );
  return rows[0]!.tuples;
}

/** Removes a table's dead rows; waits until no snapshot, such as that of an automatic ANALYZE, still needs one. */
export async function vacuum(pool: pg.Pool, table: string): Promise<void> {
  await until(
    async () => {
      const { rows } = await pool.query<{ snapshots: number }>(
        `select count(*)::integer as snapshots
         from pg_stat_activity
         where datname = current_database()
           and backend_xmin is not null
           and pid <> pg_backend_pid()`,
      );
      return rows[0]!.snapshots;
    },
    (snapshots) => snapshots === 0,
  );
  await pool.query(`vacuum ${table}`);
}
