-- Settles as CANCELED what still waits when its retention ends: items with smaller ids than p_before that nobody works on,
-- as they may be held for a disabled target that long. Those before p_from go with their day's partition. At most
-- p_limit rows per bucket; gives how many items there were.
drop function if exists cancel_expired_deliveries;
create function cancel_expired_deliveries(
  p_from uuid,
  p_before uuid,
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
  v_bucket smallint;
  v_items integer;
  v_count integer := 0;
begin
  for v_bucket in
    select b
    from generate_series(0, 255) as b
    where exists (
      select
      from deliveries d
      where d.bucket = b
        and d.id >= p_from
        and d.id < p_before
    )
  loop
    with expired as (
      select d.id
      from deliveries d
      where d.bucket = v_bucket
        and d.id >= p_from
        and d.id < p_before
        and d.event_ids[cardinality(d.event_ids)] < p_before
        and d.lease_until is null
      order by d.id
      limit p_limit
      for update skip locked
    ),
    gone as (
      delete from deliveries d
      using expired
      where d.bucket = v_bucket
        and d.id = expired.id
      returning d.event_ids, d.org_id, d.target_id
    )
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    select v_bucket, 'CANCELED', i.id, gone.org_id, gone.target_id, v_now_ms
    from gone
    cross join unnest(gone.event_ids) as i (id)
    on conflict do nothing;
    get diagnostics v_items = row_count;
    v_count := v_count + v_items;
  end loop;
  return v_count;
end
$$;
