/**
 * A loose scan for a statement that begins `with recursive`: `waiting` has each target for which something waits without a
 * lease, with the moment at which its first delivery is due, by one step of the index deliveries_due per target, however many rows
 * the target has. The scan begins at a row whose bucket is -1.
 */
export const waitingTargets = `waiting as (
    select
      -1::smallint as bucket,
      '00000000-0000-0000-0000-000000000000'::uuid as target_id,
      null::bigint as due_at
    union all
    select following.bucket, following.target_id, following.due_at
    from waiting w
    cross join lateral (
      select d.bucket, d.target_id, d.due_at
      from deliveries d
      where d.lease_until is null
        and (d.bucket, d.target_id) > (w.bucket, w.target_id)
      order by d.bucket, d.target_id, d.due_at
      limit 1
    ) following
  )`;
