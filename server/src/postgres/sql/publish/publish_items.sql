-- Accepts a batch of publications from many requests in one transaction, and authorizes each, as accept_items does. Each
-- becomes an item for every target that it reaches, or nothing at all. Rows come in any order; number says of which
-- request. Codes:
--   a accepted      r the same idempotency key and body as an earlier publication      c the same key with another body
--   u unauthorized      n no such customer      s suspended      p pending
--   o not p_is_open, and would be accepted otherwise
--   l too large for the target target_ids[1]      m it reaches more than p_most_items targets
--   v it would be accepted, and targets have filters by which it was not judged: judge it by them, and come again
-- states has a character per item: l leased to the caller, who dispatches it from memory; d due; h held; u unread.
create function publish_items(
  p_lease_ms integer,
  p_lease_token bigint,
  -- Whether it is known that every process finds the payload of a publication.
  p_is_open boolean,
  -- How many items the caller has room for.
  p_room integer,
  -- Targets of which it has room for none.
  p_full_target_ids uuid[],
  p_most_items integer,
  p_key_hashes bytea[],
  p_customers text[],
  p_payloads bytea[],
  p_event_types text[],
  p_correlation_ids text[],
  p_ordering_keys text[],
  p_key_digests uuid[],
  p_body_digests uuid[],
  p_trace_contexts bytea[],
  -- What filters say: of which publication, by its number, which filter, and whether it passed. Null for nothing.
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
  filters text[]
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_room integer := p_room;
  v_sender record;
  v_targets publication_targets;
  v_bucket smallint;
  v_winner record;
  v_passed uuid[] := '{}';
  v_failed uuid[] := '{}';
begin
  for v_sender in
    select
      i.n, k.org_id,
      case
        when k.id is null then 'u'
        when o.billing_status = 'suspended' then 's'
        when o.billing_status = 'grace' and o.billing_grace_ends_at <= v_now_ms / 1000 then 's'
        when o.billing_status = 'pending' then 'p'
        when i.customer is not null and c.uid is null then 'n'
        else 'a'
      end as code
    from unnest(p_key_hashes, p_customers, p_key_digests) with ordinality as i (key_hash, customer, digest, n)
    left join api_keys k on k.key_hash = i.key_hash
    left join organizations o on o.id = k.org_id
    left join customers c on c.org_id = k.org_id and c.uid = i.customer
    -- Sorted, so that two nodes that write the same idempotency keys cannot deadlock.
    order by i.digest, i.customer, k.org_id, i.n
  loop
    number := v_sender.n;
    code := v_sender.code;
    publication_id := null;
    item_ids := '{}';
    target_ids := '{}';
    kinds := '{}';
    versions := '{}';
    states := '';
    filters := null;
    if code = 'a' and not p_is_open then
      code := 'o';
    end if;
    if p_verdict_numbers is not null then
      select
        coalesce(array_agg(j.filter) filter (where j.passed), '{}'),
        coalesce(array_agg(j.filter) filter (where not j.passed), '{}')
      into v_passed, v_failed
      from unnest(p_verdict_numbers, p_verdict_filters, p_verdict_passed) as j (publication, filter, passed)
      where j.publication = v_sender.n;
    end if;
    if code = 'a' then
      v_bucket := get_byte(uuid_send(v_sender.org_id), 15);
      v_targets := publication_targets_of(
        v_sender.org_id, p_customers[number], p_event_types[number], '{}', p_most_items, v_passed, v_failed
      );
    end if;
    if code = 'a' and v_targets.unjudged is not null then
      code := 'v';
      filters := v_targets.unjudged;
    end if;
    if code = 'a' then
      publication_id := new_item_id(v_bucket, v_now_ms);
      if cardinality(v_targets.ids) > p_most_items then
        code := 'm';
      elsif octet_length(p_payloads[number]) > v_targets.max_bytes then
        code := 'l';
        target_ids := array[v_targets.smallest];
      end if;
      if p_key_digests[number] is not null then
        v_winner := publication_winner(
          v_bucket, md5(v_sender.org_id::text || coalesce(p_customers[number], '/') || p_key_digests[number]::text)::uuid,
          p_body_digests[number], publication_id, code = 'a', v_now_ms
        );
        if v_winner.id <> publication_id then
          code := case when v_winner.body_digest = p_body_digests[number] then 'r' else 'c' end;
          publication_id := v_winner.id;
        end if;
      end if;
    end if;

    if code = 'r' then
      select array_agg(e.id order by i.ord), array_agg(e.target_id order by i.ord), array_agg(e.kind order by i.ord)
      into item_ids, target_ids, kinds
      from publications p
      cross join unnest(p.event_ids) with ordinality as i (id, ord)
      join events e on e.org_id = v_sender.org_id and e.id = i.id
      where p.bucket = v_bucket
        and p.id = v_winner.id;
    elsif code = 'a' then
      target_ids := coalesce(v_targets.ids, '{}');
      kinds := coalesce(v_targets.kinds, '{}');
      versions := coalesce(v_targets.versions, '{}');
      item_ids := new_item_ids(target_ids, v_now_ms);
      states := publication_states(v_targets, p_full_target_ids, v_room);
      v_room := v_room - length(states) + length(replace(states, 'l', ''));
      insert into publications (
        bucket, id, org_id, customer_uid, event_type, correlation_id, ordering_key, payload, trace_context, event_ids
      )
      values (
        v_bucket, publication_id, v_sender.org_id, p_customers[number], p_event_types[number], p_correlation_ids[number],
        p_ordering_keys[number], p_payloads[number], p_trace_contexts[number], item_ids
      );
      if item_ids <> '{}' then
        perform store_published_items(
          publication_id, v_bucket, v_targets, item_ids, states, false, p_lease_ms, p_lease_token, v_now_ms
        );
      end if;
    end if;
    return next;
  end loop;
end
$$;

-- New ids of items, one for each of these targets.
create function new_item_ids(p_target_ids uuid[], p_ms bigint)
returns uuid[] language plpgsql as $$
begin
  return array(
    select new_item_id(get_byte(uuid_send(t.id), 15)::smallint, p_ms)
    from unnest(p_target_ids) with ordinality as t (id, ord)
    order by t.ord
  );
end
$$;

-- Which publication an idempotency key stands for. The key is written, to the days that accept_items writes to, where
-- p_may_win. Gives this publication's id where nobody had it before.
create function publication_winner(
  p_bucket smallint,
  p_key_digest uuid,
  p_body_digest uuid,
  p_id uuid,
  p_may_win boolean,
  p_now_ms bigint,
  out id uuid,
  out body_digest uuid
) language plpgsql as $$
declare
  -- As in accept_items: around midnight a key is of two days.
  v_first_day integer := (p_now_ms - 60000) / 86400000;
  v_last_day integer := (p_now_ms + 60000) / 86400000;
begin
  if p_may_win then
    insert into idempotency_keys (bucket, day, key_digest, body_digest, event_id)
    select p_bucket, d.day, p_key_digest, p_body_digest, p_id
    from generate_series(v_first_day, v_last_day) as d (day)
    -- A key of an earlier day keeps its publication.
    where not exists (
      select
      from idempotency_keys k
      where k.bucket = p_bucket
        and k.key_digest = p_key_digest
        and k.day between v_first_day - 1 and v_first_day
    )
    order by d.day
    on conflict do nothing;
  end if;
  -- A statement of its own, because the one above cannot see the row of a concurrent winner.
  select k.event_id, k.body_digest
  into id, body_digest
  from idempotency_keys k
  where k.bucket = p_bucket
    and k.key_digest = p_key_digest
    and k.day between v_first_day - 1 and v_last_day
  order by k.event_id = p_id, k.day
  limit 1;
  if not found then
    id := p_id;
    return;
  end if;
  if id <> p_id then
    -- The loser's other day would later name a publication that never was: it becomes the winner's.
    update idempotency_keys k
    set event_id = publication_winner.id,
      body_digest = publication_winner.body_digest
    where k.bucket = p_bucket
      and k.key_digest = p_key_digest
      and k.day between v_first_day and v_last_day
      and k.event_id = p_id;
  end if;
end
$$;

-- What becomes of each item at once: see publish_items. The first p_room that can be sent are leased to the caller.
create function publication_states(p_targets publication_targets, p_full_target_ids uuid[], p_room integer)
returns text language plpgsql immutable as $$
declare
  v_states text := '';
  v_room integer := p_room;
begin
  for n in 1 .. coalesce(cardinality(p_targets.ids), 0) loop
    if p_targets.kinds[n] = 2 then
      v_states := v_states || 'u';
    elsif p_targets.held[n] then
      v_states := v_states || 'h';
    elsif v_room > 0 and p_targets.ids[n] <> all (p_full_target_ids) then
      v_states := v_states || 'l';
      v_room := v_room - 1;
    else
      v_states := v_states || 'd';
    end if;
  end loop;
  return v_states;
end
$$;
