-- Turns operational events of the outbox into items, in one transaction: unbilled, one for each subscribed target of the
-- organization. Failed events and dead messages may be very many, so for each target at most one item per p_pace_ms reports
-- them, all since the previous item together. Handles at most p_limit subjects (organization, type and target). Returns the new
-- items.
create function tell_operational_events(p_limit integer, p_pace_ms integer)
returns table (
  item_id uuid,
  listener_id uuid,
  listener_kind text,
  event_type text,
  status text
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_subject record;
  v_told record;
  v_about record;
begin
  for v_subject in
    select c.org_id, c.type, c.target_id, c.type in ('event.failed', 'mailbox.message_dead') as is_paced
    from (
      select o.org_id, o.type, o.target_id
      from (
        select n.org_id, n.type, n.target_id, min(n.at_ms) as since_ms
        from operational_events n
        group by n.org_id, n.type, n.target_id
      ) o
      where not exists (
        select
        from notification_paces p
        where p.org_id = o.org_id
          and p.type = o.type
          and p.target_id = o.target_id
          and p.next_at_ms > v_now_ms
      )
      -- Organizations take turns, so that one with thousands of failing targets does not delay the others.
      order by row_number() over (partition by o.org_id order by o.since_ms), o.since_ms
      limit p_limit
    ) c
    -- The same order for all callers, so that two of them cannot deadlock.
    order by c.org_id, c.type, c.target_id
  loop
    -- Without the lock, two callers would create two items for the same subject.
    continue when not pg_try_advisory_xact_lock(
      hashtextextended(v_subject.type || v_subject.target_id, hashtextextended(v_subject.org_id::text, 0))
    );
    select t.name, t.kind
    into v_about
    from targets t
    where t.id = v_subject.target_id;
    for v_told in
      with gone as (
        delete from operational_events o
        where o.org_id = v_subject.org_id
          and o.type = v_subject.type
          and o.target_id = v_subject.target_id
        returning o.id, o.event_ids, o.count, o.reason, o.at_ms
      )
      select
        sum(g.count) as count,
        min(g.at_ms) as first_ms,
        max(g.at_ms) as last_ms,
        min(g.reason) as reason,
        -- Each row has at most ten ids; the item has the first ten of all rows.
        string_agg(array_to_string(g.event_ids, ','), ',' order by g.at_ms) as event_ids
      from gone g
      group by case when not v_subject.is_paced then g.id end
      order by min(g.at_ms)
    loop
      return query
      select m.item_id, m.listener_id, m.listener_kind, v_subject.type, m.status
      from make_operational_items(
        v_subject.org_id,
        v_subject.type,
        v_subject.target_id,
        json_build_object(
          'event_type', v_subject.type,
          'occurred_at', v_told.last_ms / 1000,
          'since', v_told.first_ms / 1000,
          'target_id', replace(v_subject.target_id::text, '-', ''),
          'target_name', v_about.name,
          'target_kind', v_about.kind,
          'reason', v_told.reason,
          'count', v_told.count,
          'event_ids', coalesce((string_to_array(replace(v_told.event_ids, '-', ''), ','))[:10], '{}')
        ),
        v_now_ms
      ) m;
    end loop;
    if v_subject.is_paced then
      insert into notification_paces as p (org_id, type, target_id, next_at_ms)
      values (v_subject.org_id, v_subject.type, v_subject.target_id, v_now_ms + p_pace_ms)
      on conflict (org_id, type, target_id) do update
      set next_at_ms = excluded.next_at_ms;
    end if;
  end loop;
  -- A pace whose time is over has no effect any more.
  delete from notification_paces p
  where p.next_at_ms <= v_now_ms;
end
$$;

-- Creates the items of one operational event, one for each subscribed target. The callers set planner options, which this
-- function inherits.
create function make_operational_items(
  p_org uuid,
  p_type text,
  p_about uuid,
  p_payload json,
  p_now_ms bigint
)
returns table (
  item_id uuid,
  listener_id uuid,
  listener_kind text,
  status text
) language plpgsql as $$
#variable_conflict use_column
declare
  v_listener record;
  v_id uuid;
  v_bucket smallint;
begin
  for v_listener in
    -- The lock prevents the target from being deleted before its item exists and can be canceled.
    select t.id, t.kind, t.max_retries, t.event_types
    from notification_targets n
    join targets t on t.id = n.target_id
    where n.org_id = p_org
      and n.target_id <> p_about
      and p_type = any (n.event_types)
      and not is_handoff(kind_number(t.kind))
    order by t.id
    for key share of t
  loop
    v_bucket := get_byte(uuid_send(v_listener.id), 15);
    v_id := new_item_id(v_bucket, p_now_ms);
    insert into events (
      bucket, kind, max_retries, billable, target_id, id, org_id, event_type, payload, is_operational
    )
    values (
      v_bucket, kind_number(v_listener.kind), v_listener.max_retries, false, v_listener.id,
      v_id, p_org, p_type, convert_to(p_payload::text, 'UTF8'), true
    );
    if is_pulled(kind_number(v_listener.kind)) then
      perform put_message(v_listener.id, v_id, p_now_ms);
      status := 'UNREAD';
    elsif not matches_event_types(v_listener.event_types, p_type) then
      insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
      values (v_bucket, 'FILTERED', v_id, p_org, v_listener.id, p_now_ms);
      status := 'FILTERED';
    else
      insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
      values (v_bucket, kind_number(v_listener.kind), v_id, v_listener.id, p_org, p_now_ms, array[v_id]);
      status := 'QUEUED';
    end if;
    if not is_pulled(kind_number(v_listener.kind)) then
      insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
      values (v_bucket, 1, v_listener.id, p_org, p_now_ms);
    end if;
    item_id := v_id;
    listener_id := v_listener.id;
    listener_kind := v_listener.kind;
    return next;
  end loop;
end
$$;

-- A new item id (`newId` in ids.ts).
create function new_item_id(p_bucket smallint, p_ms bigint)
returns uuid
language sql
volatile
as $$
  select (
    lpad(to_hex(p_ms), 12, '0')
    || '7'
    || substr(replace(gen_random_uuid()::text, '-', ''), 14, 17)
    || lpad(to_hex(p_bucket::integer), 2, '0')
  )::uuid
$$;
