/**
 * A loose index scan for a statement that begins with `with recursive`: `waiting` has each target that has a row without a
 * lease, and the time at which its first delivery is due. It reads one entry of the index deliveries_due per target, however
 * many rows the target has. Its first row is a dummy with bucket -1.
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
