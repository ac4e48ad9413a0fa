import type pg from "pg";

const maxTargetsPerRun = 100;
const rowsPerCall = 5_000;

/**
 * Settles as CANCELED what waits for deleted targets. Nobody depends on it: such events read as canceled from the
 * moment the target is gone; this only clears the hot table. @returns how many deliveries were settled.
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
      const { rows: counts } = await pool.query<{ count: number }>(
        "select cancel_deliveries($1, $2, $3) as count",
        [bucket, target_id, rowsPerCall],
      );
      canceled += counts[0]!.count;
      if (counts[0]!.count < rowsPerCall) break;
    }
  }
  return canceled;
}
