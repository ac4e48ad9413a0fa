-- Stores the items of publications, with what makes them due or puts them into their mailboxes, and bills them. Of
-- publications there are arrays with an element for each; items name theirs by its number, and those without an id are
-- passed over. p_late_payloads is null for publications that are stored with their items; items that come later carry the
-- payload themselves, because the publication's day may be dropped before theirs.
--
-- Items of one target wait in one row of deliveries, as accept_items has it: at most 64, one of each publication. Those that
-- can be sent are leased to the caller, target by target, as long as there are no more than p_room. Gives the items of each
-- publication, in the order in which they came; states is as publish_items has it, and only leased items have row_ids.
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
begin
  if p_kinds && pulled_kinds() then
    with message as (
      select i.id, i.mailbox_id, i.number
      from unnest(p_numbers, p_ids, p_target_ids, p_kinds) as i (number, id, mailbox_id, kind)
      where is_pulled(i.kind)
        and i.id is not null
    ),
    stored as (
      insert into messages (bucket, size, mailbox_id, id, ordering_key)
      select get_byte(uuid_send(m.id), 15), p_sizes[m.number], m.mailbox_id, m.id, p_ordering_keys[m.number]
      from message m
      order by m.number
    )
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    select get_byte(uuid_send(m.mailbox_id), 15), p_now_ms / 60000, count(*), 0, count(*), m.mailbox_id
    from message m
    group by m.mailbox_id;
  end if;

  return query
  with counted as (
    select
      i.number, i.id, i.target_id, i.kind, i.version, i.max_retries, i.ord, i.held,
      count(*) over of_target as items,
      first_value(i.id) over of_target as first_id,
      -- How many items that can be sent there are up to the last of the target.
      count(*) filter (where not is_pulled(i.kind) and not i.held and i.target_id <> all (p_full_target_ids)) over upto as sendable
    from unnest(p_numbers, p_ids, p_target_ids, p_kinds, p_versions, p_max_retries, p_held) with ordinality
      as i (number, id, target_id, kind, version, max_retries, held, ord)
    where i.id is not null
    window
      of_target as (partition by i.target_id order by i.ord rows between unbounded preceding and unbounded following),
      upto as (order by i.target_id)
  ),
  item as materialized (
    select
      c.number, c.id, c.target_id, c.kind, c.version, c.max_retries, c.ord,
      case
        when is_pulled(c.kind) then 'u'
        when c.held then 'h'
        when c.sendable > p_room or c.target_id = any (p_full_target_ids) then 'd'
        else 'l'
      end as state,
      c.items, c.first_id
    from counted c
  ),
  waiting as materialized (
    select
      i.target_id, i.state, i.kind, row_of_items(i.first_id, i.items) as row_id, min(i.number) as number,
      array_agg(i.id order by i.ord) as event_ids
    from item i
    where i.state <> 'u'
    group by i.target_id, i.state, i.kind, i.first_id, i.items
  ),
  stored as (
    insert into events (
      bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, ordering_key, payload,
      trace_context, publication_id
    )
    select
      get_byte(uuid_send(i.id), 15), i.kind, i.max_retries, true, i.target_id, i.id, p_orgs[i.number],
      p_event_types[i.number], p_correlation_ids[i.number], p_ordering_keys[i.number],
      coalesce(p_late_payloads[i.number], ''), p_trace_contexts[i.number],
      case when p_late_payloads is null then p_publication_ids[i.number] end
    from item i
    -- The order of ids.
    order by i.ord
  ),
  due as (
    insert into deliveries (bucket, kind, id, target_id, org_id, due_at, lease_until, lease_token, event_ids)
    select
      get_byte(uuid_send(w.row_id), 15), w.kind, w.row_id, w.target_id, p_orgs[w.number], p_now_ms,
      case when w.state = 'l' then p_now_ms + p_lease_ms end,
      case when w.state = 'l' then p_lease_token end,
      w.event_ids
    from waiting w
  ),
  activity as (
    insert into published_activity (bucket, org_id, at_ms, target_ids, accepted)
    select
      get_byte(uuid_send(a.org_id), 15), a.org_id, p_now_ms, array_agg(a.target_id), array_agg(a.accepted)
    from (
      select
        w.target_id, p_orgs[w.number] as org_id, cardinality(w.event_ids)::smallint as accepted,
        row_number() over (partition by p_orgs[w.number]) - 1 as place
      from waiting w
    ) a
    group by a.org_id, a.place / 64
  ),
  billed as (
    insert into usage_records (bucket, period, items, org_id)
    select min(get_byte(uuid_send(i.id), 15)), v_period, count(*), p_orgs[i.number]
    from item i
    group by p_orgs[i.number]
  )
  select
    i.number,
    array_agg(i.id order by i.ord),
    array_agg(i.target_id order by i.ord),
    array_agg(i.kind order by i.ord),
    array_agg(i.version order by i.ord),
    string_agg(i.state, '' order by i.ord),
    array_agg(case when i.state = 'l' then row_of_items(i.first_id, i.items) end order by i.ord)
  from item i
  group by i.number;
end
$$;
