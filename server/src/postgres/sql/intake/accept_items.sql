-- Accepts a batch of items from many requests in one transaction, and authorizes each: the key, the organization's billing
-- state and the target are read here, so that a deleted key, a suspended organization or a disabled mailbox stops the very next
-- item on every node. A disabled webhook or agent holds its items.
--
-- Pairs: each distinct (API key, target) of the batch. Items name their pair by its 1-based number.
--
-- Groups: items of one pair in one row of deliveries. Group g has the items in p_group_items after p_group_ends[g - 1] up to
-- p_group_ends[g], as 1-based numbers in the order of the items' ids. Groups of mailbox items are ignored.
--
-- codes has one character per item, or is null when each was accepted:
--   a accepted; an immediate item that is not for a mailbox is leased to the caller, which dispatches it from memory
--   f filtered          accepted, but the target's event_types do not list it, or its filter does not match it
--   r replayed          the same idempotency key and body as an earlier item; its id is in winners
--   c conflict          the same idempotency key with another body
--   u unauthorized      n not found      d mailbox disabled      l too large      s suspended      p pending
--   v to be matched     the item was not matched with the target's filter, which is in pair_filters: match and submit it again
-- Arrays of pairs have one element per pair, null where there is no target. Accepted items of a held pair are not leased and wait
-- until their target is enabled.
create function accept_items(
  p_lease_ms integer,
  p_lease_token bigint,
  p_pair_key_hashes bytea[],
  p_pair_target_ids uuid[],
  p_pair_legacy boolean[],
  p_pair_largest integer[],
  -- For each pair, the digest of the filter that its items were matched with, or null if they were matched with none; null
  -- instead of the array when no item was matched.
  p_pair_filters uuid[],
  p_pairs smallint[],
  p_ids uuid[],
  p_group_ids uuid[],
  p_group_ends smallint[],
  p_group_items smallint[],
  p_group_immediate boolean[],
  p_sizes integer[],
  p_payloads bytea[],
  p_event_types text[],
  p_correlation_ids text[],
  p_ordering_keys text[],
  p_key_digests uuid[],
  p_body_digests uuid[],
  p_trace_contexts bytea[],
  -- Which items do not match the filter of their pair; null when all match.
  p_differs boolean[],
  out codes text,
  out winners uuid[],
  out pair_versions bigint[],
  out pair_kinds smallint[],
  out pair_held boolean[],
  -- Null when no item has to be matched again.
  out pair_filters text[]
) language plpgsql as $$
declare
  v_pair_codes text[];
  v_pair_orgs uuid[];
  v_pair_max_bytes integer[];
  v_pair_max_retries smallint[];
  -- Whether a target has event_types or a filter.
  v_any_filter boolean;
  v_pair_filtered boolean[];
  v_all_fit boolean;
  v_codes text[];
  v_count integer := cardinality(p_ids);
  v_winner_bodies uuid[];
  -- The database's own clock, because all nodes share it.
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_period integer := extract(year from to_timestamp(v_now_ms / 1000.0) at time zone 'UTC') * 100
    + extract(month from to_timestamp(v_now_ms / 1000.0) at time zone 'UTC');
  v_last_position bigint;
begin
  select
    array_agg(
      coalesce(
        intake_refusal(k.id, o.billing_status, o.billing_grace_ends_at, v_now_ms),
        case
          -- The organization is compared here and not in the join, so that targets are found by their primary key.
          when t.id is null or t.org_id <> k.org_id or (pair.legacy and t.kind <> 'webhook') then 'n'
          when not t.enabled and is_pulled(kind_number(t.kind)) then 'd'
          when t.filter_digest <> pair.filter or (t.filter_digest is not null and pair.filter is null) then 'v'
          else 'a'
        end
      )
      order by pair.number
    ),
    array_agg(k.org_id order by pair.number),
    array_agg(t.max_payload_bytes order by pair.number),
    array_agg(t.max_retries order by pair.number),
    array_agg(t.version order by pair.number),
    array_agg(
      kind_number(t.kind)
      order by pair.number
    ),
    array_agg(not t.enabled order by pair.number),
    coalesce(bool_or(cardinality(t.event_types) > 0 or t.filter_digest is not null), false),
    array_agg(t.filter_digest is not null order by pair.number),
    bool_and(pair.largest <= t.max_payload_bytes)
  into v_pair_codes, v_pair_orgs, v_pair_max_bytes, v_pair_max_retries, pair_versions, pair_kinds,
    pair_held, v_any_filter, v_pair_filtered, v_all_fit
  from unnest(p_pair_key_hashes, p_pair_target_ids, p_pair_legacy, p_pair_largest, p_pair_filters) with ordinality
    as pair (key_hash, target_id, legacy, largest, filter, number)
  left join api_keys k on k.key_hash = pair.key_hash
  left join organizations o on o.id = k.org_id
  left join targets t on t.id = pair.target_id;

  if p_key_digests is not null then
    select w.winners, w.winner_bodies
    into winners, v_winner_bodies
    from idempotency_winners(
      p_key_digests,
      p_body_digests,
      p_ids,
      case
        when not v_all_fit or 'a' <> any (v_pair_codes) then
          array(
            select v_pair_codes[p_pairs[n]] = 'a' and p_sizes[n] <= v_pair_max_bytes[p_pairs[n]]
            from generate_series(1, v_count) as n
            order by n
          )
      end,
      v_now_ms
    ) w;
  end if;

  -- In most batches every item is accepted, and no code for each item is needed.
  if v_any_filter or not v_all_fit or winners is not null or 'a' <> any (v_pair_codes) then
    select
      array_agg(
        case
          when v_pair_codes[i.pair] <> 'a' then v_pair_codes[i.pair]
          when i.size > v_pair_max_bytes[i.pair] then 'l'
          when winners[i.ord] <> i.id and i.body_digest = v_winner_bodies[i.ord] then 'r'
          when winners[i.ord] <> i.id then 'c'
          when v_pair_filtered[i.pair] and p_differs[i.ord] then 'f'
          when v_any_filter and exists (
            select
            from targets t
            where t.id = p_pair_target_ids[i.pair]
              and not matches_event_types(t.event_types, i.event_type)
          ) then 'f'
          else 'a'
        end
        order by i.ord
      )
    into v_codes
    from unnest(p_ids, p_pairs, p_sizes, p_event_types, p_body_digests) with ordinality
      as i (id, pair, size, event_type, body_digest, ord);
    codes := array_to_string(v_codes, '');
    if 'r' = any (v_codes) then
      -- A transaction that writes nothing does not wait for a synchronous standby. The earlier item may be committed on this
      -- server only, if its session or the server ended before the standby confirmed it. With a WAL record of its own, the
      -- repeated request waits until the standby has both.
      perform pg_logical_emit_message(true, 'postrider', 'repeat'::text);
    end if;
    if 'v' = any (v_pair_codes) then
      select array_agg(t.filter order by pair.number)
      into pair_filters
      from unnest(p_pair_target_ids, v_pair_codes) with ordinality as pair (target_id, code, number)
      left join targets t on pair.code = 'v' and t.id = pair.target_id;
    end if;
  end if;

  -- Reads the arrays by subscript: unnest of so many arrays would keep a copy of each.
  insert into events (
    bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, ordering_key, payload,
    trace_context
  )
  select
    get_byte(uuid_send(p_ids[n]), 15),
    pair_kinds[p_pairs[n]],
    v_pair_max_retries[p_pairs[n]],
    true,
    p_pair_target_ids[p_pairs[n]],
    p_ids[n],
    v_pair_orgs[p_pairs[n]],
    p_event_types[n],
    p_correlation_ids[n],
    p_ordering_keys[n],
    p_payloads[n],
    p_trace_contexts[n]
  from generate_series(1, v_count) as n
  where v_codes is null
    or v_codes[n] in ('a', 'f');

  insert into deliveries (bucket, kind, id, target_id, org_id, due_at, lease_until, lease_token, event_ids)
  select
    get_byte(uuid_send(p_group_ids[g]), 15),
    pair_kinds[waiting.pair],
    p_group_ids[g],
    p_pair_target_ids[waiting.pair],
    v_pair_orgs[waiting.pair],
    v_now_ms,
    case when p_group_immediate[g] and not pair_held[waiting.pair] then v_now_ms + p_lease_ms end,
    case when p_group_immediate[g] and not pair_held[waiting.pair] then p_lease_token end,
    waiting.event_ids
  from generate_series(1, cardinality(p_group_ids)) as g
  cross join lateral (
    select array_agg(p_ids[n]) as event_ids, min(p_pairs[n]) as pair
    from unnest(p_group_items[coalesce(p_group_ends[g - 1], 0) + 1 : p_group_ends[g]]) as n
    where (v_codes is null or v_codes[n] = 'a')
      and not is_pulled(pair_kinds[p_pairs[n]])
  ) waiting
  where waiting.pair is not null;

  insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
  select
    get_byte(uuid_send(p_pair_target_ids[p_pairs[n]]), 15),
    count(*),
    p_pair_target_ids[p_pairs[n]],
    v_pair_orgs[p_pairs[n]],
    v_now_ms
  from generate_series(1, v_count) as n
  where (v_codes is null or v_codes[n] in ('a', 'f'))
    -- Messages of mailboxes are counted in mailbox_activity.
    and not is_pulled(pair_kinds[p_pairs[n]])
  group by p_pairs[n];

  insert into usage_records (bucket, period, items, org_id)
  select min(get_byte(uuid_send(p_ids[n]), 15)), v_period, count(*), v_pair_orgs[p_pairs[n]]
  from generate_series(1, v_count) as n
  where v_codes is null
    or v_codes[n] in ('a', 'f')
  group by v_pair_orgs[p_pairs[n]];

  -- A separate statement, so that batches without filtered items do not pay for it.
  if v_any_filter then
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    select
      get_byte(uuid_send(i.id), 15),
      'FILTERED',
      i.id,
      v_pair_orgs[i.pair],
      p_pair_target_ids[i.pair],
      v_now_ms
    from unnest(p_ids, p_pairs, v_codes) as i (id, pair, code)
    where i.code = 'f';
  end if;

  -- Positions follow the order of the batch, which is the order of acceptance.
  if pair_kinds && pulled_kinds() then
    if positions_by_clock() then
      select last_position(array_agg(p_pair_target_ids[p_pairs[n]]), array_agg(p_ordering_keys[n]))
      into v_last_position
      from generate_series(1, v_count) as n
      where (v_codes is null or v_codes[n] = 'a')
        and is_pulled(pair_kinds[p_pairs[n]]);
    end if;
    insert into messages (bucket, size, mailbox_id, id, position, ordering_key)
    select
      get_byte(uuid_send(p_ids[n]), 15),
      p_sizes[n],
      p_pair_target_ids[p_pairs[n]],
      p_ids[n],
      case when positions_by_clock() then v_last_position + n else nextval('message_positions') end,
      p_ordering_keys[n]
    from generate_series(1, v_count) as n
    where (v_codes is null or v_codes[n] = 'a')
      and is_pulled(pair_kinds[p_pairs[n]])
    order by n;
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    select
      get_byte(uuid_send(p_pair_target_ids[p_pairs[n]]), 15),
      v_now_ms / 60000,
      count(*),
      0,
      count(*),
      p_pair_target_ids[p_pairs[n]]
    from generate_series(1, v_count) as n
    where (v_codes is null or v_codes[n] = 'a')
      and is_pulled(pair_kinds[p_pairs[n]])
    group by p_pair_target_ids[p_pairs[n]];
  end if;
end
$$;
