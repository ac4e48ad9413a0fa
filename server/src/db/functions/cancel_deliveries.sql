-- Settles what waits for one deleted target as CANCELED, at most p_limit rows; gives how many there were.
drop function if exists cancel_deliveries;
create function cancel_deliveries(
  p_bucket smallint,
  p_target uuid,
  p_limit integer
)
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with waiting as (
    select d.event_id
    from deliveries d
    where d.bucket = p_bucket
      and d.target_id = p_target
      and d.lease_until is null
    order by d.due_at
    limit p_limit
    for update skip locked
  ),
  gone as (
    delete from deliveries d
    using waiting
    where d.bucket = p_bucket
      and d.event_id = waiting.event_id
    returning d.event_id, d.org_id
  )
  insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
  select p_bucket, 'CANCELED', gone.event_id, gone.org_id, p_target, v_now_ms
  from gone
  on conflict do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
