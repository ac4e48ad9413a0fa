-- Accepts a batch of publications from many requests in one transaction, and authorizes each, as accept_items does. Each
-- becomes an item for every target that it reaches, or nothing at all. Rows are returned in any order; number is the 1-based
-- number of the request. Codes:
--   a accepted      r the same idempotency key and body as an earlier publication      c the same key with another body
--   u unauthorized      n no such customer      s suspended      p pending
--   l too large for the target target_ids[1]      m it reaches more than p_most_items targets
--   v it was not matched yet with the filters of some targets, which are in filters: match it, and submit it again
-- states has a character per item: l leased to the caller, who dispatches it from memory; d due; h held; u unread.
create function publish_items(
  p_lease_ms integer,
  p_lease_token bigint,
  -- Number of items for which the caller has room.
  p_room integer,
  -- Targets for whose items the caller has no room.
  p_full_target_ids uuid[],
  p_most_items integer,
  p_key_hashes bytea[],
  p_customers text[],
  p_payloads bytea[],
  p_sizes integer[],
  p_event_types text[],
  p_correlation_ids text[],
  p_ordering_keys text[],
  p_key_digests uuid[],
  p_body_digests uuid[],
  p_trace_contexts bytea[],
  -- Results of matching: the publication's number, the filter's digest, and whether the publication passed the filter. Null when
  -- nothing was matched.
  p_verdict_numbers smallint[],
  p_verdict_filters uuid[],
  p_verdict_passed boolean[]
)
returns table (
  number smallint,
  code text,
  publication_id uuid,
  item_ids uuid[],
  target_ids uuid[],
  kinds smallint[],
  versions bigint[],
  states text,
  -- The row of deliveries of each leased item; null for other items.
  row_ids uuid[],
  filters text[]
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  -- The common part of all ids.
  v_base uuid := new_item_id(0::smallint, v_now_ms);
  -- For each publication.
  v_codes text[];
  v_orgs uuid[];
  v_ids uuid[];
  v_digests uuid[];
  v_winners uuid[];
  v_winner_bodies uuid[];
  -- For each item.
  v_numbers smallint[];
  v_target_ids uuid[];
  v_kinds smallint[];
  v_versions bigint[];
  v_max_retries smallint[];
  v_held boolean[];
  v_max_bytes integer[];
  v_filters text[];
  v_item_ids uuid[];
begin
  select
    array_agg(
      coalesce(
        intake_refusal(k.id, o.billing_status, o.billing_grace_ends_at, v_now_ms),
        case
          when i.customer is not null and c.uid is null then 'n'
          else 'a'
        end
      )
      order by i.n
    ),
    array_agg(k.org_id order by i.n)
  into v_codes, v_orgs
  from unnest(p_key_hashes, p_customers) with ordinality as i (key_hash, customer, n)
  left join api_keys k on k.key_hash = i.key_hash
  left join organizations o on o.id = k.org_id
  left join customers c on c.org_id = k.org_id and c.uid = i.customer;

  select
    array_agg(t.number order by t.number, t.target_id),
    array_agg(t.target_id order by t.number, t.target_id),
    array_agg(t.kind order by t.number, t.target_id),
    array_agg(t.version order by t.number, t.target_id),
    array_agg(t.max_retries order by t.number, t.target_id),
    array_agg(t.held order by t.number, t.target_id),
    array_agg(t.max_bytes order by t.number, t.target_id),
    array_agg(t.filter order by t.number, t.target_id)
  into v_numbers, v_target_ids, v_kinds, v_versions, v_max_retries, v_held, v_max_bytes, v_filters
  from publication_targets_of(
    v_orgs, p_customers, p_event_types, '{}', p_most_items, p_verdict_numbers, p_verdict_filters, p_verdict_passed
  ) t
  where v_codes[t.number] = 'a';

  select
    array_agg(
      case
        when v_codes[n.n] <> 'a' then v_codes[n.n]
        when r.is_unjudged then 'v'
        when r.items > p_most_items then 'm'
        when p_sizes[n.n] > r.max_bytes then 'l'
        else 'a'
      end
      order by n.n
    ),
    array_agg(
      numbered_id(v_base, n.n - 1, get_byte(uuid_send(v_orgs[n.n]), 15))
      order by n.n
    )
  into v_codes, v_ids
  from generate_series(1, cardinality(v_codes)) as n (n)
  left join (
    select
      i.number,
      count(*) as items,
      min(i.max_bytes) as max_bytes,
      bool_or(i.filter is not null) as is_unjudged
    from unnest(v_numbers, v_max_bytes, v_filters) as i (number, max_bytes, filter)
    group by i.number
  ) r on r.number = n.n;

  if array_remove(p_key_digests, null) <> '{}' then
    v_digests := array(
      select
        case when v_codes[k.n] in ('a', 'm', 'l') then
          md5(v_orgs[k.n]::text || coalesce(p_customers[k.n], '/') || k.digest::text)::uuid
        end
      from unnest(p_key_digests) with ordinality as k (digest, n)
      order by k.n
    );
    select w.winners, w.winner_bodies
    into v_winners, v_winner_bodies
    from idempotency_winners(
      v_digests,
      p_body_digests,
      v_ids,
      case when 'a' <> any (v_codes) then array(select c = 'a' from unnest(v_codes) with ordinality as c (c, n) order by n) end,
      v_now_ms
    ) w;
    if v_winners is not null then
      select
        array_agg(
          case
            when w.id is null or w.id = v_ids[w.n] then v_codes[w.n]
            when w.body_digest = p_body_digests[w.n] then 'r'
            else 'c'
          end
          order by w.n
        ),
        array_agg(coalesce(w.id, v_ids[w.n]) order by w.n)
      into v_codes, v_ids
      from unnest(v_winners, v_winner_bodies) with ordinality as w (id, body_digest, n);
    end if;
    if 'r' = any (v_codes) then
      -- As in accept_items: a repeat that writes nothing would not wait for a synchronous standby.
      perform pg_logical_emit_message(true, 'postrider', 'repeat'::text);
    end if;
  end if;

  v_item_ids := array(
    select
      case when v_codes[i.number] = 'a' then
        numbered_id(v_base, cardinality(v_ids) - 1 + i.n::integer, get_byte(uuid_send(i.target_id), 15))
      end
    from unnest(v_numbers, v_target_ids) with ordinality as i (number, target_id, n)
    order by i.n
  );

  insert into publications (
    bucket, id, org_id, customer_uid, event_type, correlation_id, ordering_key, payload, trace_context, event_ids
  )
  select
    get_byte(uuid_send(v_orgs[n.n]), 15), v_ids[n.n], v_orgs[n.n], p_customers[n.n], p_event_types[n.n],
    p_correlation_ids[n.n], p_ordering_keys[n.n], p_payloads[n.n], p_trace_contexts[n.n], coalesce(i.ids, '{}')
  from generate_series(1, cardinality(v_codes)) as n (n)
  left join (
    select i.number, array_agg(i.id order by i.ord) as ids
    from unnest(v_numbers, v_item_ids) with ordinality as i (number, id, ord)
    group by i.number
  ) i on i.number = n.n
  where v_codes[n.n] = 'a';

  return query
  select
    n.n::smallint, 'a', v_ids[n.n], s.item_ids, s.target_ids, s.kinds, s.versions, s.states, s.row_ids, null::text[]
  from generate_series(1, cardinality(v_codes)) as n (n)
  left join store_published_items(
    p_lease_ms, p_lease_token, p_room, p_full_target_ids, v_now_ms, v_ids, v_orgs, p_event_types, p_correlation_ids,
    p_ordering_keys, p_sizes, p_trace_contexts, null, v_numbers, v_item_ids, v_target_ids, v_kinds, v_versions,
    v_max_retries, v_held
  ) s on s.number = n.n
  where v_codes[n.n] = 'a';

  if 'a' = all (v_codes) then
    return;
  end if;
  -- The publications that this call did not accept. A repeated publication comes with its original items.
  return query
  select
    n.n::smallint, v_codes[n.n], v_ids[n.n], e.ids,
    case when v_codes[n.n] = 'l' then
      array(
        select i.target_id
        from unnest(v_numbers, v_target_ids, v_max_bytes) as i (number, target_id, max_bytes)
        where i.number = n.n
        order by i.max_bytes, i.target_id
        limit 1
      )
    else
      e.target_ids
    end,
    e.kinds, null::bigint[], null::text, null::uuid[],
    case when v_codes[n.n] = 'v' then
      array(
        select distinct i.filter
        from unnest(v_numbers, v_filters) as i (number, filter)
        where i.number = n.n
          and i.filter is not null
      )
    end
  from generate_series(1, cardinality(v_codes)) as n (n)
  left join lateral (
    select
      array_agg(e.id order by i.ord) as ids,
      array_agg(e.target_id order by i.ord) as target_ids,
      array_agg(e.kind order by i.ord) as kinds
    from publications p
    cross join unnest(p.event_ids) with ordinality as i (id, ord)
    join events e on e.org_id = v_orgs[n.n] and e.id = i.id
    where v_codes[n.n] = 'r'
      and p.bucket = get_byte(uuid_send(v_orgs[n.n]), 15)
      and p.id = v_ids[n.n]
      -- Excludes items that were created later, for added targets: their ids are of a later millisecond.
      and left(i.id::text, 13) = left(p.id::text, 13)
  ) e on true
  where v_codes[n.n] <> 'a';
end
$$;
