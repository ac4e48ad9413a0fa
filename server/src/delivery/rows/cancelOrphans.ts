import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";

const maxTargetsPerRun = 100;
const rowsPerCall = 5_000;

/**
 * Cancels what waits for deleted targets. Nothing depends on it: such events read as canceled from the
 * moment the target is gone; this only clears the hot table. @returns how many deliveries there were.
 */
export async function cancelOrphans(pool: pg.Pool): Promise<number> {
  // A loose scan: one step of the index per waiting target, however many rows each has.
  const { rows } = await pool.query<{ bucket: number; target_id: string }>(
    `with recursive waiting as (
       (select bucket, target_id
        from deliveries
        where lease_until is null
        order by bucket, target_id
        limit 1)
       union all
       select next.bucket, next.target_id
       from waiting w
       cross join lateral (
         select d.bucket, d.target_id
         from deliveries d
         where d.lease_until is null
           and (d.bucket, d.target_id) > (w.bucket, w.target_id)
         order by d.bucket, d.target_id
         limit 1
       ) next
     )
     select w.bucket, w.target_id
     from waiting w
     where not exists (select from targets t where t.id = w.target_id)
     limit $1`,
    [maxTargetsPerRun],
  );
  let canceled = 0;
  for (const { bucket, target_id } of rows) {
    for (;;) {
      const [answer] = await callFunction(pool, "cancel_deliveries", {
        p_bucket: bucket,
        p_target: target_id,
        p_limit: rowsPerCall,
      });
      const count = answer!.cancel_deliveries!;
      canceled += count;
      if (count < rowsPerCall) break;
    }
  }
  return canceled;
}
