-- Cancels one event that waits: a delivery that no node has leased, or a message that nobody has claimed. Codes:
--   k canceled      n the organization has no such event
--   w the event does not wait, or is leased or claimed
--   h an agent may already have received the item
--   b another transaction has locked the message: call again
-- mailbox_is_freed: whether another message with the same ordering key became claimable.
create function cancel_event(
  p_org uuid,
  p_id uuid,
  p_mailbox_retention_ms bigint,
  out code text,
  out kind smallint,
  out target_id uuid,
  out event_type text,
  out mailbox_is_freed boolean
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_id), 15);
  v_row record;
begin
  mailbox_is_freed := false;
  select e.kind, e.target_id, e.event_type
  into kind, target_id, event_type
  from events e
  where e.org_id = p_org
    and e.id = p_id;
  if not found then
    code := 'n';
    return;
  end if;
  -- Items of a deleted target are canceled already.
  if not exists (select from targets t where t.id = cancel_event.target_id) then
    code := 'w';
    return;
  end if;
  if is_pulled(kind) then
    select c.code, c.is_freed
    into code, mailbox_is_freed
    from cancel_message(target_id, p_id, v_now_ms, first_id_at(v_now_ms - p_mailbox_retention_ms)) c;
  else
    -- The item has a row of its own, or shares a row with other untried items.
    select d.id, cardinality(d.event_ids) as items
    into v_row
    from deliveries d
    where d.bucket = v_bucket
      and d.id = p_id
      and d.lease_until is null
      and p_id = any (d.event_ids)
    for update;
    if not found then
      select d.id, cardinality(d.event_ids) as items
      into v_row
      from deliveries d
      where d.bucket = v_bucket
        and d.target_id = cancel_event.target_id
        and least(d.attempts, 1) = 0
        and d.event_ids[cardinality(d.event_ids)] >= p_id
        and d.event_ids[cardinality(d.event_ids)] < first_id_at((slot_of(p_id) + 1) * 1024)
        and d.lease_until is null
        and p_id = any (d.event_ids)
      limit 1
      for update;
    end if;
    if not found then
      code := 'w';
      return;
    end if;
    if is_handoff(kind) and exists (
      select
      from handoffs h
      where h.bucket = v_bucket
        and h.event_id = p_id
        and (h.accepted_at is not null or h.unanswered_since is not null)
    ) then
      code := 'h';
      return;
    end if;
    if v_row.items = 1 then
      delete from deliveries d
      where d.bucket = v_bucket
        and d.id = v_row.id;
    else
      update deliveries d
      set event_ids = array_remove(d.event_ids, p_id)
      where d.bucket = v_bucket
        and d.id = v_row.id;
    end if;
    code := 'k';
  end if;
  if code = 'k' then
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    values (v_bucket, 'CANCELED', p_id, p_org, cancel_event.target_id, v_now_ms)
    on conflict do nothing;
  end if;
end
$$;

-- Removes one unclaimed message from its mailbox. Returns the codes k, w and b of cancel_event.
create function cancel_message(
  p_mailbox uuid,
  p_id uuid,
  p_now_ms bigint,
  p_expired_before uuid,
  out code text,
  out is_freed boolean
) language plpgsql as $$
declare
  v_bucket smallint := get_byte(uuid_send(p_id), 15);
  v_message record;
begin
  is_freed := false;
  code := 'w';
  if p_id < p_expired_before then
    return;
  end if;
  select *
  into v_message
  from lock_message(v_bucket, p_mailbox, p_id);
  if v_message.is_busy then
    code := 'b';
    return;
  end if;
  if not v_message.is_locked or message_status(
    v_message.state,
    v_message.claimable_at,
    v_message.claim_count,
    (select t.max_claims from targets t where t.id = p_mailbox),
    p_now_ms
  ) <> 'UNREAD' then
    return;
  end if;
  delete from messages m
  where m.bucket = v_bucket
    and m.id = p_id;
  insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
  values (v_bucket, p_now_ms / 60000, 0, 0, -1, p_mailbox);
  if v_message.ordering_key is not null then
    is_freed := unpark_messages(v_bucket, p_mailbox, array[v_message.ordering_key], p_now_ms, p_expired_before) > 0;
  end if;
  code := 'k';
end
$$;
