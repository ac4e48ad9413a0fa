-- Accepts the payload of an event once more: a new, unbilled event under p_id, due at once. The ids share their
-- last byte, the target's bucket. Codes:
--   a accepted      n the organization has no such event      g its target is gone      d its target is disabled
drop function if exists replay_event;
create function replay_event(
  p_org uuid,
  p_source uuid,
  p_id uuid
)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_source record;
  v_target record;
begin
  select e.bucket, e.kind, e.target_id
  into v_source
  from events e
  where e.org_id = p_org
    and e.id = p_source;
  if not found then
    return 'n';
  end if;

  -- The lock keeps the target from being deleted before the delivery is there to be canceled.
  select t.enabled, t.max_retries
  into v_target
  from targets t
  where t.id = v_source.target_id
    and t.org_id = p_org
  for key share;
  if not found then
    return 'g';
  end if;
  if not v_target.enabled then
    return 'd';
  end if;

  insert into events (
    bucket, kind, max_retries, billable, target_id, id, org_id, source_event_id, event_type, correlation_id,
    ordering_key, payload
  )
  select
    e.bucket,
    e.kind,
    v_target.max_retries,
    false,
    e.target_id,
    p_id,
    e.org_id,
    e.id,
    e.event_type,
    e.correlation_id,
    e.ordering_key,
    e.payload
  from events e
  where e.bucket = v_source.bucket
    and e.target_id = v_source.target_id
    and e.id = p_source;

  if v_source.kind <> 2 then
    insert into deliveries (bucket, kind, event_id, target_id, org_id, due_at)
    values (
      v_source.bucket,
      v_source.kind,
      p_id,
      v_source.target_id,
      p_org,
      extract(epoch from clock_timestamp()) * 1000
    );
  end if;
  return 'a';
end
$$;
