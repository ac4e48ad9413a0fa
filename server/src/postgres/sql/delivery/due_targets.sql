-- Looks, without locks, which targets have something that waits without a lease, from a cursor
-- (bucket, target_id) on, at most p_max_targets of them; the caller begins anew when fewer come. Says of each whether
-- something is due, which it never is for a disabled target, and whether its deliveries are failing. A deleted
-- target is due, so that the claim cancels what waits for it.
--
-- For a caller that has no room for most of them: claim_deliveries would have to be told which.
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
    -- One step of the index deliveries_due, however many rows the target has.
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
