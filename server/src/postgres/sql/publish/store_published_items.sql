-- Stores the items of publications with their rows of deliveries or messages, and bills them. Arrays of publications have one
-- element for each publication; p_numbers has the number of each item's publication. Items without an id are ignored.
-- p_late_payloads is null for publications that are stored with their items; items that are added later carry the payload
-- themselves, because the partition of the publication's day may be dropped before the partition of their day.
--
-- Items of one target wait in one row of deliveries, as in accept_items: at most 64, one of each publication. Items that can be
-- sent are leased to the caller, target by target, up to p_room. Returns the items of each publication in their order; states
-- as in publish_items; only leased items have row_ids.
create function store_published_items(
  p_lease_ms integer,
  p_lease_token bigint,
  p_room integer,
  p_full_target_ids uuid[],
  p_now_ms bigint,
  p_publication_ids uuid[],
  p_orgs uuid[],
  p_event_types text[],
  p_correlation_ids text[],
  p_ordering_keys text[],
  p_sizes integer[],
  p_trace_contexts bytea[],
  p_late_payloads bytea[],
  p_numbers smallint[],
  p_ids uuid[],
  p_target_ids uuid[],
  p_kinds smallint[],
  p_versions bigint[],
  p_max_retries smallint[],
  p_held boolean[]
)
returns table (
  number smallint,
  item_ids uuid[],
  target_ids uuid[],
  kinds smallint[],
  versions bigint[],
  states text,
  row_ids uuid[]
) language plpgsql as $$
#variable_conflict use_column
declare
  v_period integer := extract(year from to_timestamp(p_now_ms / 1000.0) at time zone 'UTC') * 100
    + extract(month from to_timestamp(p_now_ms / 1000.0) at time zone 'UTC');
  -- For each item that has an id.
  v_numbers smallint[];
  v_ids uuid[];
  v_target_ids uuid[];
  v_kinds smallint[];
  v_versions bigint[];
  v_max_retries smallint[];
  v_states text[];
  -- The item's row of deliveries.
  v_row_ids uuid[];
  v_last_position bigint;
begin
  select
    array_agg(c.number order by c.ord),
    array_agg(c.id order by c.ord),
    array_agg(c.target_id order by c.ord),
    array_agg(c.kind order by c.ord),
    array_agg(c.version order by c.ord),
    array_agg(c.max_retries order by c.ord),
    array_agg(
      case
        when is_pulled(c.kind) then 'u'
        when c.held then 'h'
        when c.sendable > p_room or c.target_id = any (p_full_target_ids) then 'd'
        else 'l'
      end
      order by c.ord
    ),
    array_agg(row_of_items(c.first_id, c.items) order by c.ord)
  into v_numbers, v_ids, v_target_ids, v_kinds, v_versions, v_max_retries, v_states, v_row_ids
  from (
    select
      i.number, i.id, i.target_id, i.kind, i.version, i.max_retries, i.ord, i.held,
      count(*) over of_target as items,
      first_value(i.id) over of_target as first_id,
      -- Number of items that can be sent, up to and including those of this target.
      count(*) filter (where not is_pulled(i.kind) and not i.held and i.target_id <> all (p_full_target_ids)) over upto as sendable
    from unnest(p_numbers, p_ids, p_target_ids, p_kinds, p_versions, p_max_retries, p_held) with ordinality
      as i (number, id, target_id, kind, version, max_retries, held, ord)
    where i.id is not null
    window
      of_target as (partition by i.target_id order by i.ord rows between unbounded preceding and unbounded following),
      upto as (order by i.target_id)
  ) c;

  -- Inserted in the order of their ids.
  insert into events (
    bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, ordering_key, payload,
    trace_context, publication_id
  )
  select
    get_byte(uuid_send(i.id), 15), i.kind, i.max_retries, true, i.target_id, i.id, p_orgs[i.number],
    p_event_types[i.number], p_correlation_ids[i.number], p_ordering_keys[i.number],
    coalesce(p_late_payloads[i.number], ''), p_trace_contexts[i.number],
    case when p_late_payloads is null then p_publication_ids[i.number] end
  from unnest(v_numbers, v_ids, v_target_ids, v_kinds, v_max_retries) as i (number, id, target_id, kind, max_retries);

  insert into deliveries (bucket, kind, id, target_id, org_id, due_at, lease_until, lease_token, event_ids)
  select
    get_byte(uuid_send(i.row_id), 15), i.kind, i.row_id, i.target_id, p_orgs[min(i.number)], p_now_ms,
    case when i.state = 'l' then p_now_ms + p_lease_ms end,
    case when i.state = 'l' then p_lease_token end,
    array_agg(i.id order by i.ord)
  from unnest(v_numbers, v_ids, v_target_ids, v_kinds, v_states, v_row_ids) with ordinality
    as i (number, id, target_id, kind, state, row_id, ord)
  where i.state <> 'u'
  group by i.target_id, i.state, i.kind, i.row_id;

  insert into published_activity (bucket, org_id, at_ms, target_ids, accepted)
  select
    get_byte(uuid_send(a.org_id), 15), a.org_id, p_now_ms, array_agg(a.target_id), array_agg(a.accepted)
  from (
    select
      i.target_id, p_orgs[min(i.number)] as org_id, count(*)::smallint as accepted,
      row_number() over (partition by p_orgs[min(i.number)]) - 1 as place
    from unnest(v_numbers, v_target_ids, v_states) as i (number, target_id, state)
    where i.state <> 'u'
    group by i.target_id
  ) a
  group by a.org_id, a.place / 64;

  insert into usage_records (bucket, period, items, org_id)
  select min(get_byte(uuid_send(i.id), 15)), v_period, count(*), p_orgs[i.number]
  from unnest(v_numbers, v_ids) as i (number, id)
  group by p_orgs[i.number];

  if p_kinds && pulled_kinds() then
    if positions_by_clock() then
      select last_position(array_agg(i.target_id), array_agg(p_ordering_keys[i.number]))
      into v_last_position
      from unnest(v_numbers, v_target_ids, v_kinds) as i (number, target_id, kind)
      where is_pulled(i.kind);
    end if;
    -- A mailbox gets at most one item of each publication.
    insert into messages (bucket, size, mailbox_id, id, position, ordering_key)
    select
      get_byte(uuid_send(i.id), 15),
      p_sizes[i.number],
      i.target_id,
      i.id,
      case when positions_by_clock() then v_last_position + i.number else nextval('message_positions') end,
      p_ordering_keys[i.number]
    from unnest(v_numbers, v_ids, v_target_ids, v_kinds) as i (number, id, target_id, kind)
    where is_pulled(i.kind)
    order by i.number;
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    select get_byte(uuid_send(i.target_id), 15), p_now_ms / 60000, count(*), 0, count(*), i.target_id
    from unnest(v_target_ids, v_kinds) as i (target_id, kind)
    where is_pulled(i.kind)
    group by i.target_id;
  end if;

  return query
  select
    i.number,
    array_agg(i.id order by i.ord),
    array_agg(i.target_id order by i.ord),
    array_agg(i.kind order by i.ord),
    array_agg(i.version order by i.ord),
    string_agg(i.state, '' order by i.ord),
    array_agg(case when i.state = 'l' then i.row_id end order by i.ord)
  from unnest(v_numbers, v_ids, v_target_ids, v_kinds, v_versions, v_states, v_row_ids) with ordinality
    as i (number, id, target_id, kind, version, state, row_id, ord)
  group by i.number;
end
$$;
