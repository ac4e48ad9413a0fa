-- Restarts the retry schedule of rows that wait for one target, from p_now_ms: at most p_limit rows due from p_from_due_at
-- on, in the order in which they are due. Overdue rows keep their due_at. Returns how many rows changed, and the position of
-- the last one, from which the next call continues.
create function reschedule_deliveries(
  p_bucket smallint,
  p_target uuid,
  p_from_due_at bigint,
  p_now_ms bigint,
  p_limit integer,
  out changed integer,
  out last_due_at bigint
) language plpgsql as $$
begin
  with waiting as materialized (
    select d.id, d.due_at
    from deliveries d
    where d.bucket = p_bucket
      and d.target_id = p_target
      and d.lease_until is null
      and d.due_at >= p_from_due_at
      and (d.schedule_attempts > 0 or d.due_at > p_now_ms)
    order by d.due_at
    limit p_limit
    for update skip locked
  ),
  again as (
    update deliveries d
    set schedule_attempts = 0,
      due_at = least(d.due_at, p_now_ms)
    from waiting
    where d.bucket = p_bucket
      and d.id = waiting.id
  )
  select count(*), max(waiting.due_at)
  into changed, last_due_at
  from waiting;
end
$$;
