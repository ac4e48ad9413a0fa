-- Settles what waits for one deleted target as CANCELED: whole rows, until at least p_limit items are settled or none
-- is left. Gives how many there were.
create function cancel_deliveries(
  p_bucket smallint,
  p_target uuid,
  p_limit integer
)
returns integer
language plpgsql
as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with first as (
    select f.place
    from (
      select
        d.ctid as place,
        cardinality(d.event_ids) as items,
        sum(cardinality(d.event_ids)) over (order by d.due_at rows unbounded preceding) as total
      from (
        select w.ctid, w.event_ids, w.due_at
        from deliveries w
        where w.bucket = p_bucket
          and w.target_id = p_target
          and w.lease_until is null
        order by w.due_at
        limit p_limit
      ) d
    ) f
    where f.total - f.items < p_limit
  ),
  waiting as (
    select d.id
    from first
    cross join lateral (
      select w.id
      from deliveries w
      where w.ctid = first.place
        and w.bucket = p_bucket
        and w.lease_until is null
      for update skip locked
    ) d
  ),
  gone as (
    delete from deliveries d
    using waiting
    where d.bucket = p_bucket
      and d.id = waiting.id
    returning d.event_ids, d.org_id
  )
  insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
  select p_bucket, 'CANCELED', i.id, gone.org_id, p_target, v_now_ms
  from gone
  cross join unnest(gone.event_ids) as i (id)
  on conflict do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
