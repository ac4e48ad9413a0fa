import type pg from "pg";
import { until } from "./until.ts";

/** Waits until a statement of this database that calls the function waits for a lock. */
export async function untilWaiting(pool: pg.Pool, functionName: string): Promise<void> {
  await until(
    () =>
      pool.query(
        `select
         from pg_stat_activity
         where datname = current_database()
           and wait_event_type = 'Lock'
           and strpos(query, $1) > 0`,
        [functionName],
      ),
    ({ rowCount }) => rowCount! > 0,
  );
}
