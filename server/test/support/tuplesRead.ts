import type pg from "pg";
import { until } from "./until.ts";

/**
 * How many rows and index entries of a table the transaction has read so far; a scan that makes a bitmap reads entries whose
 * rows it never looks at. Includes what earlier transactions of the session have not reported yet.
 */
export async function tuplesRead(pool: pg.Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ tuples: number }>(
    `select (
       idx_tup_fetch + seq_tup_read
       + (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index where indrelid = relid)
     )::integer as tuples
     from pg_stat_xact_user_tables
     where relname = $1`,
    [table],
  );
  return rows[0]!.tuples;
}

/** Removes a table's dead rows, of which none may be left to somebody's snapshot, such as that of an ANALYZE by itself. */
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
