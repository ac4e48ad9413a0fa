-- Claims messages by their ids, one for each request. Checks the API keys as claim_messages does. A message can be claimed by
-- its id before its delay has ended, but not before its turn in its ordering key.
--
-- One row per request. Codes:
--   c claimed        h held by an active claim    a acknowledged    d dead    x expired    e canceled or filtered
--   o behind an earlier message of its ordering key
--   u unauthorized   n not found                  b busy: another transaction has locked it, call again
create function claim_named_messages(
  p_retention_ms bigint,
  p_key_hashes bytea[],
  p_keys smallint[],
  p_ids uuid[],
  p_claim_tokens uuid[],
  p_leases_ms integer[]
)
returns table (
  request integer,
  code text,
  key_id uuid,
  mailbox_id uuid,
  claim_count integer,
  lease_until bigint,
  ordering_key text,
  event_type text,
  correlation_id text,
  payload text,
  trace_context bytea
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  -- The range of the ids, by which the executor prunes the other days of `events` at its start.
  v_low_id uuid;
  v_high_id uuid;
  v_key_ids uuid[];
  v_key_orgs uuid[];
  v_keyed record;
  v_firsts uuid[] := '{}';
  v_free uuid[] := '{}';
begin
  select array_agg(k.id order by p.number), array_agg(k.org_id order by p.number)
  into v_key_ids, v_key_orgs
  from unnest(p_key_hashes) with ordinality as p (key_hash, number)
  left join api_keys k on k.key_hash = p.key_hash;

  select min(i.id::text collate "C")::uuid, max(i.id::text collate "C")::uuid
  into v_low_id, v_high_id
  from unnest(p_ids) as i (id);

  -- Ordering keys are locked before rows; the holder of a key's lock then skips locked rows.
  for v_keyed in
    select m.bucket, m.mailbox_id, m.ordering_key, array_agg(m.id) as ids, max(t.max_claims) as max_claims
    from unnest(p_ids) as i (id)
    join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
    join targets t on t.id = m.mailbox_id
    -- This expression does not match the index messages_keyed: a generic plan from a time without ordering keys would scan
    -- all of that index.
    where coalesce(m.ordering_key, '') <> ''
    group by m.bucket, m.mailbox_id, m.ordering_key
    order by m.mailbox_id, m.ordering_key
  loop
    continue when cardinality(try_lock_message_keys(v_keyed.mailbox_id, array[v_keyed.ordering_key])) = 0;
    v_free := v_free || v_keyed.ids;
    perform return_message_of_key(
      v_keyed.bucket, v_keyed.mailbox_id, v_keyed.ordering_key, v_keyed.max_claims, v_now_ms, v_expired_before
    );
    v_firsts := v_firsts || array(
      select m.id
      from messages m
      where m.bucket = v_keyed.bucket
        and m.mailbox_id = v_keyed.mailbox_id
        and m.ordering_key = v_keyed.ordering_key
        and (m.id >= v_expired_before) is true
        and not exists (
          select
          from messages c
          where c.bucket = v_keyed.bucket
            and c.mailbox_id = v_keyed.mailbox_id
            and c.ordering_key = v_keyed.ordering_key
            and c.state = 2
        )
      order by m.position
      limit 1
    );
  end loop;

  return query
  with picked as materialized (
    select i.number, m.id, m.bucket, v_key_ids[i.key] as key_id, p_claim_tokens[i.number] as token
    from (
      select distinct on (id) id, number, key
      from unnest(p_ids, p_keys) with ordinality as i (id, key, number)
      order by id, number
    ) i
    join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
    join targets t on t.id = m.mailbox_id and t.org_id = v_key_orgs[i.key]
    where (m.id >= v_expired_before) is true
      and (
        m.state <> 2
        or (m.claimable_at <= v_now_ms and (t.max_claims is null or m.claim_count < t.max_claims))
      )
      and (m.ordering_key is null or m.id = any (v_firsts))
    for update of m skip locked
  ),
  leased as (
    update messages m
    set state = 2,
      claim_count = m.claim_count + 1,
      claimable_at = v_now_ms + p_leases_ms[p.number],
      claimed_by = p.key_id,
      claim_token = p.token
    from picked p
    where m.bucket = get_byte(uuid_send(p.id), 15)
      and m.id = p.id
    returning
      p.number, m.bucket, m.mailbox_id, m.id, m.claim_count, m.claimable_at, m.claimed_by, m.ordering_key
  )
  select
    l.number::integer, 'c', l.claimed_by, l.mailbox_id, l.claim_count, l.claimable_at, l.ordering_key,
    e.event_type, e.correlation_id,
    convert_from(coalesce(p.payload, e.payload), 'UTF8'),
    e.trace_context
  from leased l
  join events e
    on e.bucket = l.bucket and e.target_id = l.mailbox_id and e.id = l.id and e.id between v_low_id and v_high_id
  left join publications p on p.bucket = get_byte(uuid_send(e.publication_id), 15) and p.id = e.publication_id;

  return query
  select
    i.number::integer,
    case
      when v_key_ids[i.key] is null then 'u'
      when e.id is null or t.id is null then 'n'
      when i.id < v_expired_before then 'x'
      when c.dead then 'd'
      when c.id is not null then 'a'
      when m.id is null and exists (
        select
        from settlements s
        where s.bucket = get_byte(uuid_send(i.id), 15)
          and s.event_id = i.id
          and s.event_id between v_low_id and v_high_id
      ) then 'e'
      when m.id is null then 'b'
      when m.state = 2 and m.claimable_at > v_now_ms then 'h'
      when m.state = 2 and m.claim_count >= t.max_claims then 'd'
      when m.ordering_key is not null and i.id = any (v_free) and i.id <> all (v_firsts) then 'o'
      else 'b'
    end,
    v_key_ids[i.key], e.target_id, null::integer, null::bigint, null::text, null::text, null::text, null::text,
    null::bytea
  from unnest(p_ids, p_keys) with ordinality as i (id, key, number)
  left join events e
    on e.org_id = v_key_orgs[i.key] and e.id = i.id and e.id between v_low_id and v_high_id and is_pulled(e.kind)
  left join targets t on t.id = e.target_id
  left join closed_messages c
    on c.bucket = get_byte(uuid_send(i.id), 15) and c.mailbox_id = e.target_id and c.id = i.id
      and c.id between v_low_id and v_high_id
  left join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
  where not exists (
    select
    from messages mine
    where mine.bucket = get_byte(uuid_send(i.id), 15)
      and mine.id = i.id
      and mine.claim_token = p_claim_tokens[i.number]
  );
end
$$;
