-- Erases the content of one event: its payload, and the answers and notes of receivers, agents and people. An item that still
-- waits is canceled first, also while it is being sent: it leaves its row of deliveries, or its mailbox, so that its lease
-- becomes invalid and no further answer is recorded. Its ids, type, status and times stay. Codes:
--   e erased       d erased before, possibly by another erasure       n the organization has no such event
--   b another transaction has locked the item: call again
-- mailbox_id: the mailbox from which the item was removed; null for other items.
create function erase_event(
  p_erasure uuid,
  p_org uuid,
  p_id uuid,
  p_retention_ms bigint,
  out code text,
  out mailbox_id uuid
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_publication uuid;
  v_event record;
  v_freed record;
begin
  -- This commit need not wait for the disk: the caller commits its answer or its progress afterwards, and that commit waits.
  perform set_config('synchronous_commit', 'off', true);
  -- A replay of a publication locks the publication, then its events. The same order here prevents deadlocks.
  select e.publication_id
  into v_publication
  from events e
  where e.org_id = p_org
    and e.id = p_id;
  if v_publication is not null then
    perform
    from publications p
    where p.bucket = get_byte(uuid_send(v_publication), 15)
      and p.id = v_publication
    for no key update;
  end if;
  -- The lock waits for a replay that is copying the payload, so that the copy is found afterwards.
  select e.bucket, e.kind, e.target_id, e.erasure_id, e.publication_id
  into v_event
  from events e
  where e.org_id = p_org
    and e.id = p_id
  for no key update;
  if not found then
    code := 'n';
    return;
  end if;
  if v_event.erasure_id is not null then
    code := 'd';
    return;
  end if;

  if is_pulled(v_event.kind) then
    select *
    into v_freed
    from withdraw_message(v_event.bucket, v_event.target_id, p_id, v_now_ms, first_id_at(v_now_ms - p_retention_ms));
  else
    select *
    into v_freed
    from withdraw_delivery(v_event.bucket, v_event.target_id, p_id);
  end if;
  if v_freed.is_busy then
    code := 'b';
    return;
  end if;
  if v_freed.is_withdrawn then
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    values (v_event.bucket, 'CANCELED', p_id, p_org, v_event.target_id, v_now_ms)
    on conflict do nothing;
    if is_pulled(v_event.kind) then
      mailbox_id := v_event.target_id;
    end if;
  end if;

  update events e
  set payload = '',
    publication_id = null,
    erasure_id = p_erasure
  where e.bucket = v_event.bucket
    and e.target_id = v_event.target_id
    and e.id = p_id;
  if v_event.publication_id is not null then
    perform erase_publication(v_event.publication_id, p_org, v_now_ms);
  end if;
  perform erase_answers(v_event.bucket, p_org, v_event.target_id, p_id, v_now_ms);

  -- Digests of the body in idempotency keys are erased later: keys cannot be found by their item.
  if p_id > first_id_at(v_now_ms - 3 * 86400000) then
    insert into erased_digests (bucket, event_id)
    values (v_event.bucket, p_id)
    on conflict do nothing;
  end if;
  update erasures x
  set erased = x.erased + 1,
    walk_erased = x.walk_erased + 1
  where x.id = p_erasure;
  code := 'e';
end
$$;
