-- Lists, without locks, the targets that have unleased deliveries: the first p_max_targets after the cursor (p_bucket,
-- p_target). The caller starts from the beginning again when fewer are returned. is_due: whether a delivery is due now; false
-- for a disabled target, but not for a deleted one, so that the claim cancels its deliveries. is_failing: whether the
-- target's deliveries are failing.
--
-- Used by a caller that has no room for most targets: from this list it chooses those to pass to claim_deliveries as p_only.
create function due_targets(
  p_bucket smallint,
  p_target uuid,
  p_max_targets integer
)
returns table (
  target_id uuid,
  org_id uuid,
  is_due boolean,
  is_failing boolean
)
language plpgsql
stable
as $$
#variable_conflict use_column
begin
  return query
  with recursive circle as (
    select 0 as steps, p_bucket as bucket, p_target as target_id, null::uuid as org_id, null::bigint as due_at
    union all
    select c.steps + 1, following.bucket, following.target_id, following.org_id, following.due_at
    from circle c
    -- One step in the index deliveries_due, regardless of how many rows the target has.
    cross join lateral (
      select d.bucket, d.target_id, d.org_id, d.due_at
      from deliveries d
      where d.lease_until is null
        and (d.bucket, d.target_id) > (c.bucket, c.target_id)
      order by d.bucket, d.target_id, d.due_at
      limit 1
    ) following
    where c.steps < p_max_targets
  )
  select
    c.target_id,
    c.org_id,
    c.due_at <= extract(epoch from clock_timestamp()) * 1000 and coalesce(t.enabled, true),
    t.failing_since is not null
  from circle c
  left join targets t on t.id = c.target_id
  where c.steps > 0
  order by c.steps;
end
$$;
