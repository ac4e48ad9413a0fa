-- Writes an operational event about a target to the outbox, in the transaction of the change, when other targets of the
-- organization subscribe to its type; when none does, this is one lookup. p_event_ids: the events that it is about, or the
-- event whose delivery caused it; null for none. Events that are operational events themselves are left out, and when no
-- other event remains, nothing is written, so that operational events never cause each other. A target is not notified of its
-- own events. Returns whether the event was written.
create function note_operational_event(
  p_type text,
  p_org uuid,
  p_target uuid,
  p_event_ids uuid[],
  p_reason text
)
returns boolean language plpgsql as $$
declare
  v_ids uuid[];
begin
  if not exists (
    select
    from notification_targets n
    where n.org_id = p_org
      and n.target_id <> p_target
      and p_type = any (n.event_types)
  ) then
    return false;
  end if;
  if p_event_ids is not null then
    v_ids := array(
      select i.id
      from unnest(p_event_ids) as i (id)
      where not exists (
        select
        from events e
        where e.bucket = get_byte(uuid_send(p_target), 15)
          and e.target_id = p_target
          and e.id = i.id
          and e.is_operational
      )
      order by i.id
    );
    if v_ids = '{}' then
      return false;
    end if;
  end if;
  insert into operational_events (org_id, type, target_id, event_ids, count, reason, at_ms)
  values (
    p_org, p_type, p_target, v_ids[:10], coalesce(cardinality(v_ids), 1), p_reason,
    extract(epoch from clock_timestamp()) * 1000
  );
  return true;
end
$$;

-- Writes the operational event for messages of one mailbox that became dead.
create function note_dead_messages(p_mailbox uuid, p_ids uuid[])
returns void language plpgsql as $$
declare
  v_org uuid := (select t.org_id from targets t where t.id = p_mailbox);
begin
  if v_org is not null then
    perform note_operational_event('mailbox.message_dead', v_org, p_mailbox, p_ids, null);
  end if;
end
$$;
