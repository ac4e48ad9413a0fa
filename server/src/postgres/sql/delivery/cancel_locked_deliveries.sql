-- Cancels rows of one target that the caller has locked: deletes the rows with their lease tokens, and settles their items as
-- CANCELED. Returns the number of items.
create function cancel_locked_deliveries(
  p_bucket smallint,
  p_target uuid,
  p_ids uuid[]
)
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with gone as (
    delete from deliveries d
    where d.bucket = p_bucket
      and d.id = any (p_ids)
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
