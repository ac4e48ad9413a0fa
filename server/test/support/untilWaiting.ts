import type pg from "pg";
import { citusUrl } from "./citus.ts";
import { until } from "./until.ts";

const waiting =
  citusUrl === undefined
    ? `select
       from pg_stat_activity
       where datname = current_database()
         and wait_event_type = 'Lock'
         and strpos(query, $1) > 0`
    : "select from citus_lock_waits where strpos(blocked_statement, $1) > 0";

/** Waits until a statement of this database that calls the function waits for a lock; on Citus on any server. */
export async function untilWaiting(pool: pg.Pool, functionName: string): Promise<void> {
  await until(
    () => pool.query(waiting, [functionName]),
    ({ rowCount }) => rowCount! > 0,
  );
}
