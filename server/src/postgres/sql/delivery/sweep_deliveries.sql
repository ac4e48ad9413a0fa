-- Ends the leases that have lapsed, whose node died or stalled: their items are due again. Rows that another transaction
-- has locked are being finished and skipped. Gives how many items there were.
create function sweep_deliveries()
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with lapsed as (
    select d.bucket, d.id
    from deliveries d
    where d.lease_until < v_now_ms
    for update skip locked
  ),
  freed as (
    update deliveries d
    set lease_until = null,
      lease_token = null
    from lapsed
    where d.bucket = lapsed.bucket
      and d.id = lapsed.id
    returning cardinality(d.event_ids) as items
  )
  select coalesce(sum(freed.items), 0)
  into v_count
  from freed;
  return v_count;
end
$$;
