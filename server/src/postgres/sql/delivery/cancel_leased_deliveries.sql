-- Settles what is being delivered to one target as CANCELED, in the transaction that deletes the target. The
-- leases' tokens go with the rows, so that attempts under way change nothing when they end. Rows that are being
-- finished at this moment are left to their finisher, which also keeps this from waiting in a circle with it.
create function cancel_leased_deliveries(
  p_bucket smallint,
  p_target uuid
)
returns integer
language plpgsql
as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with leased as (
    select d.id
    from deliveries d
    where d.bucket = p_bucket
      and d.target_id = p_target
      and d.lease_until is not null
    for update skip locked
  ),
  gone as (
    delete from deliveries d
    using leased
    where d.bucket = p_bucket
      and d.id = leased.id
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
