-- Ends lapsed leases, whose node died or stalled: their items can be claimed again. Rows that another transaction has locked
-- are being finished, and are skipped. Returns the number of items.
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
