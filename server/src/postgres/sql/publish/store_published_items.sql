-- Stores items of a publication that is there already, with what makes them due or puts them into their mailboxes, and
-- bills them. Those that come later carry the payload themselves: the publication's day may be dropped before theirs.
create function store_published_items(
  p_publication uuid,
  p_bucket smallint,
  p_targets publication_targets,
  p_ids uuid[],
  p_states text,
  p_are_late boolean,
  p_lease_ms integer,
  p_lease_token bigint,
  p_now_ms bigint
)
returns void language plpgsql as $$
declare
  v_publication record;
  v_count integer := cardinality(p_ids);
  v_states text[] := string_to_array(p_states, null);
  v_period integer := extract(year from to_timestamp(p_now_ms / 1000.0) at time zone 'UTC') * 100
    + extract(month from to_timestamp(p_now_ms / 1000.0) at time zone 'UTC');
begin
  select p.org_id, p.event_type, p.correlation_id, p.ordering_key, p.trace_context, octet_length(p.payload) as size,
    case when p_are_late then p.payload else '' end as payload
  into v_publication
  from publications p
  where p.bucket = p_bucket
    and p.id = p_publication;

  with stored as (
    insert into events (
      bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, ordering_key, payload,
      trace_context, publication_id
    )
    select
      get_byte(uuid_send(p_ids[n]), 15), (p_targets).kinds[n], (p_targets).max_retries[n], true, (p_targets).ids[n],
      p_ids[n], v_publication.org_id, v_publication.event_type, v_publication.correlation_id,
      v_publication.ordering_key, v_publication.payload, v_publication.trace_context,
      case when not p_are_late then p_publication end
    from generate_series(1, v_count) as n
  ),
  due as (
    insert into deliveries (bucket, kind, id, target_id, org_id, due_at, lease_until, lease_token, event_ids)
    select
      get_byte(uuid_send(p_ids[n]), 15), (p_targets).kinds[n], p_ids[n], (p_targets).ids[n], v_publication.org_id,
      p_now_ms,
      case when v_states[n] = 'l' then p_now_ms + p_lease_ms end,
      case when v_states[n] = 'l' then p_lease_token end,
      array[p_ids[n]]
    from generate_series(1, v_count) as n
    where v_states[n] <> 'u'
  ),
  activity as (
    insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
    select get_byte(uuid_send(p_ids[n]), 15), 1, (p_targets).ids[n], v_publication.org_id, p_now_ms
    from generate_series(1, v_count) as n
    where v_states[n] <> 'u'
  )
  insert into usage_records (bucket, period, items, org_id)
  values (p_bucket, v_period, v_count, v_publication.org_id);

  if 'u' = any (v_states) then
    with held as (
      insert into messages (bucket, size, mailbox_id, id, ordering_key)
      select get_byte(uuid_send(p_ids[n]), 15), v_publication.size, (p_targets).ids[n], p_ids[n], v_publication.ordering_key
      from generate_series(1, v_count) as n
      where v_states[n] = 'u'
    )
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    select get_byte(uuid_send(p_ids[n]), 15), p_now_ms / 60000, 1, 0, 1, (p_targets).ids[n]
    from generate_series(1, v_count) as n
    where v_states[n] = 'u';
  end if;
end
$$;
