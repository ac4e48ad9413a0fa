-- Accepts the payload of an event again, as a new, unbilled event with the id p_id: due at once, or ready in its mailbox.
-- Both ids have the same last byte, the target's bucket. Attempts of the new event send the webhook-id of the event that it
-- repeats, unless p_new_webhook_id. Codes:
--   a accepted      n the organization has no such event      g its target is gone      d its mailbox is disabled
--   x it expired in its mailbox      e its payload was erased
create function replay_event(
  p_org uuid,
  p_source uuid,
  p_id uuid,
  p_mailbox_retention_ms bigint,
  p_new_webhook_id boolean,
  out code text,
  out kind smallint,
  out target_id uuid
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_id), 15);
  v_target record;
  v_erasure uuid;
  v_source record;
begin
  -- An erasure waits for this lock, and then finds the copy that is inserted below.
  select e.kind, e.target_id, e.erasure_id
  into kind, target_id, v_erasure
  from events e
  where e.org_id = p_org
    and e.id = p_source
  for share;
  if not found then
    code := 'n';
    return;
  end if;
  if v_erasure is not null then
    code := 'e';
    return;
  end if;
  if is_pulled(kind) and p_source < first_id_at(v_now_ms - p_mailbox_retention_ms) then
    code := 'x';
    return;
  end if;

  -- The lock prevents the target from being deleted before its new delivery exists and can be canceled.
  select t.enabled, t.max_retries
  into v_target
  from targets t
  where t.id = replay_event.target_id
    and t.org_id = p_org
  for key share;
  if not found then
    code := 'g';
    return;
  end if;
  if is_pulled(kind) and not v_target.enabled then
    code := 'd';
    return;
  end if;

  select
    coalesce(e.webhook_id, e.id) as webhook_id, e.event_type, e.correlation_id, e.ordering_key, e.is_operational,
    e.trace_context, e.payload, e.publication_id
  into v_source
  from events e
  where e.bucket = v_bucket
    and e.target_id = replay_event.target_id
    and e.id = p_source;
  -- A separate query, not a join: with the id in a variable, the executor prunes the other days of `publications` at its start.
  if v_source.publication_id is not null then
    select p.payload
    into v_source.payload
    from publications p
    where p.bucket = get_byte(uuid_send(v_source.publication_id), 15)
      and p.id = v_source.publication_id;
  end if;
  insert into events (
    bucket, kind, max_retries, billable, target_id, id, org_id, source_event_id, webhook_id, event_type, correlation_id,
    ordering_key, payload, is_operational, trace_context
  )
  values (
    v_bucket, kind, v_target.max_retries, false, target_id, p_id, p_org, p_source,
    case when not p_new_webhook_id then v_source.webhook_id end, v_source.event_type, v_source.correlation_id,
    v_source.ordering_key, v_source.payload, v_source.is_operational, v_source.trace_context
  );

  if is_pulled(kind) then
    perform put_message(target_id, p_id, v_now_ms);
  else
    insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
    values (v_bucket, kind, p_id, target_id, p_org, v_now_ms, array[p_id]);
    insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
    values (v_bucket, 1, target_id, p_org, v_now_ms);
  end if;
  code := 'a';
end
$$;
