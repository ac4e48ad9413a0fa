-- Claims messages for many requests in one transaction, each the oldest of its mailbox: requests of one mailbox
-- share one walk over its ready messages and get them in the order of the requests. Checks the API keys, so that
-- a deleted key claims nothing.
--
-- Every request has one header row (its code is set) and a row per message. Codes:
--   c claimed    r repeated: what its Claim-Id was answered, as far as that is still claimed
--   e empty      u unauthorized      n no such mailbox in the key's organization
-- ready_left and claimed_left count at most 1000. next_in_ms is when an empty request should ask again, as far as
-- this transaction could tell: 0 when something is claimable that it had to pass over, null while nothing waits.
drop function if exists claim_messages;
create function claim_messages(
  p_retention_ms bigint,
  p_key_hashes bytea[],
  p_keys smallint[],
  p_mailbox_ids uuid[],
  p_claim_tokens uuid[],
  p_maxes smallint[],
  p_leases_ms integer[],
  p_claim_digests bytea[]
)
returns table (
  request integer,
  code text,
  key_id uuid,
  claim_token uuid,
  ready_left integer,
  claimed_left integer,
  next_in_ms bigint,
  id uuid,
  claim_count integer,
  lease_until bigint,
  ordering_key text,
  event_type text,
  correlation_id text,
  payload text
)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  -- The database's own clock, because those of the nodes disagree.
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  -- How long the answer to a Claim-Id is kept past the end of its lease.
  v_keep_ms constant integer := 60000;
  v_key_ids uuid[];
  v_key_orgs uuid[];
  v_box record;
  v_stored record;
  v_request integer;
  v_slots integer[];
  v_asking integer[];
  v_wanted integer;
  v_taken integer;
  v_limit integer;
  v_tries integer;
  v_from bigint;
  v_is_last boolean;
  v_is_busy boolean;
  v_is_keyed boolean;
  v_is_restarted boolean;
  v_ids uuid[];
  v_all_ids uuid[];
  v_keys text[];
  v_last_position bigint;
  v_choice record;
  v_low uuid;
  v_high uuid;
  v_ready_left integer;
  v_claimed_left integer;
  v_next_in_ms bigint;
begin
  select array_agg(k.id order by p.number), array_agg(k.org_id order by p.number)
  into v_key_ids, v_key_orgs
  from unnest(p_key_hashes) with ordinality as p (key_hash, number)
  left join api_keys k on k.key_hash = p.key_hash;

  if p_claim_digests is not null then
    -- Repeats of one Claim-Id go one after the other. Taken before any row and in one order by all.
    perform pg_advisory_xact_lock(l.number)
    from (
      select distinct hashtextextended(i.digest::text, hashtextextended(i.mailbox_id::text, 1)) as number
      from unnest(p_claim_digests, p_mailbox_ids) as i (digest, mailbox_id)
      where i.digest is not null
      order by 1
    ) l;
  end if;

  for v_box in
    select
      i.mailbox_id as id,
      get_byte(uuid_send(i.mailbox_id), 15)::smallint as bucket,
      t.org_id,
      t.max_claims,
      array_agg(i.number::integer order by i.number) as requests
    from unnest(p_mailbox_ids) with ordinality as i (mailbox_id, number)
    left join targets t on t.id = i.mailbox_id and t.kind = 'mailbox'
    group by i.mailbox_id, t.org_id, t.max_claims
    order by i.mailbox_id
  loop
    v_slots := '{}';
    v_asking := '{}';
    foreach v_request in array v_box.requests loop
      if v_key_ids[p_keys[v_request]] is null then
        request := v_request;
        code := 'u';
        key_id := null;
        return next;
        continue;
      end if;
      key_id := v_key_ids[p_keys[v_request]];
      if v_box.org_id is distinct from v_key_orgs[p_keys[v_request]] then
        request := v_request;
        code := 'n';
        return next;
        continue;
      end if;
      if p_claim_digests[v_request] is not null then
        select c.claim_token, c.message_ids
        into v_stored
        from message_claims c
        where c.bucket = v_box.bucket
          and c.mailbox_id = v_box.id
          and c.key_id = v_key_ids[p_keys[v_request]]
          and c.claim_digest = p_claim_digests[v_request];
        if found then
          request := v_request;
          code := 'r';
          claim_token := v_stored.claim_token;
          return next;
          return query
          select
            v_request, null::text, null::uuid, null::uuid, null::integer, null::integer, null::bigint,
            m.id, m.claim_count, m.claimable_at, m.ordering_key, e.event_type, e.correlation_id,
            convert_from(e.payload, 'UTF8')
          from unnest(v_stored.message_ids) with ordinality as i (id, number)
          join messages m on m.bucket = v_box.bucket and m.id = i.id
          join events e on e.bucket = m.bucket and e.target_id = m.mailbox_id and e.id = m.id
          where m.claim_token = v_stored.claim_token
            and m.claimable_at > v_now_ms
            and m.id >= v_expired_before
          order by i.number;
          continue;
        end if;
      end if;
      v_slots := v_slots || array_fill(v_request, array[p_maxes[v_request]::integer]);
      v_asking := v_asking || v_request;
    end loop;
    v_wanted := cardinality(v_slots);
    continue when v_wanted = 0;

    perform return_messages(v_box.bucket, v_box.id, v_box.max_claims, v_now_ms, v_expired_before, 500);

    v_taken := 0;
    v_tries := 0;
    v_from := 0;
    v_limit := v_wanted;
    v_is_busy := false;
    v_is_restarted := false;
    v_all_ids := '{}';
    loop
      v_tries := v_tries + 1;
      select array_agg(p.id), array_agg(p.ordering_key), bool_or(p.ordering_key is not null), max(p.position)
      into v_ids, v_keys, v_is_keyed, v_last_position
      from (
        select m.id, m.ordering_key, m.position
        from messages m
        where m.bucket = v_box.bucket
          and m.mailbox_id = v_box.id
          and m.state = 1
          and m.position > v_from
          -- "is true" keeps the planner from walking the ids.
          and (m.id >= v_expired_before) is true
        order by m.position
        limit v_limit
        for update skip locked
      ) p;
      v_is_last := v_ids is null or cardinality(v_ids) < v_limit;
      if v_ids is null then
        v_is_restarted := false;
        exit;
      end if;
      v_from := v_last_position;

      v_is_restarted := false;
      if v_is_keyed then
        v_choice := choose_keyed_messages(
          v_box.bucket, v_box.id, v_ids, v_keys, v_now_ms, v_expired_before
        );
        v_ids := v_choice.ids[1 : v_wanted - v_taken];
        v_is_busy := v_is_busy or v_choice.skipped;
        -- Those passed over are before the rest, and many may be of one key: look further at once.
        v_limit := greatest(v_wanted - v_taken - cardinality(v_ids), 64);
        if v_choice.unparked then
          v_from := 0;
          v_is_restarted := true;
        end if;
      end if;

      if cardinality(v_ids) > 0 then
        -- Bounds that are plain parameters let the executor leave out the other days of `events` at its start.
        select min(i.id::text collate "C")::uuid, max(i.id::text collate "C")::uuid
        into v_low, v_high
        from unnest(v_ids) as i (id);
        return query
        with leased as (
          update messages m
          set state = 2,
            claim_count = m.claim_count + 1,
            claimable_at = v_now_ms + p_leases_ms[i.request],
            claimed_by = v_key_ids[p_keys[i.request]],
            claim_token = p_claim_tokens[i.request]
          from unnest(v_ids, v_slots[v_taken + 1 : v_taken + cardinality(v_ids)]) with ordinality
            as i (id, request, number)
          where m.bucket = v_box.bucket
            and m.id = i.id
          returning i.number, i.request, m.id, m.claim_count, m.claimable_at, m.ordering_key
        )
        select
          l.request, null::text, null::uuid, null::uuid, null::integer, null::integer, null::bigint,
          l.id, l.claim_count, l.claimable_at, l.ordering_key, e.event_type, e.correlation_id,
          convert_from(e.payload, 'UTF8')
        from leased l
        -- The limit keeps the planner from reading the whole range for a join.
        cross join lateral (
          select x.event_type, x.correlation_id, x.payload
          from events x
          where x.bucket = v_box.bucket
            and x.target_id = v_box.id
            and x.id = l.id
            and x.id between v_low and v_high
          limit 1
        ) e
        order by l.number;
        v_taken := v_taken + cardinality(v_ids);
        v_all_ids := v_all_ids || v_ids;
      end if;
      exit when v_taken = v_wanted or (v_is_last and not v_is_restarted) or v_tries = 8;
    end loop;

    if p_claim_digests is not null and v_taken > 0 then
      insert into message_claims (
        bucket, mailbox_id, key_id, claim_digest, claim_token, message_ids, expires_at
      )
      select
        v_box.bucket,
        v_box.id,
        v_key_ids[p_keys[i.request]],
        p_claim_digests[i.request],
        p_claim_tokens[i.request],
        array_agg(i.id order by i.number),
        v_now_ms + p_leases_ms[i.request] + v_keep_ms
      from unnest(v_all_ids, v_slots[1 : v_taken]) with ordinality as i (id, request, number)
      where p_claim_digests[i.request] is not null
      group by i.request;
    end if;

    v_ready_left := 0;
    v_next_in_ms := null;
    if v_taken = v_wanted then
      select count(*)
      into v_ready_left
      from (
        select
        from messages m
        where m.bucket = v_box.bucket
          and m.mailbox_id = v_box.id
          and m.state = 1
          and m.position > v_from
        limit 1000
      ) ready;
    elsif v_is_busy or v_is_restarted or not v_is_last then
      v_next_in_ms := 0;
    else
      select min(m.claimable_at) - v_now_ms
      into v_next_in_ms
      from messages m
      where m.bucket = v_box.bucket
        and m.mailbox_id = v_box.id
        and m.state <> 1;
      if v_next_in_ms < 0 then
        v_next_in_ms := 0;
      end if;
    end if;
    select count(*)
    into v_claimed_left
    from (
      select
      from messages m
      where m.bucket = v_box.bucket
        and m.mailbox_id = v_box.id
        and m.state <> 1
        and m.claimable_at > v_now_ms
        and m.state = 2
      limit 1000
    ) claimed;

    foreach v_request in array v_asking loop
      request := v_request;
      code := case when v_request = any (v_slots[1 : v_taken]) then 'c' else 'e' end;
      key_id := v_key_ids[p_keys[v_request]];
      ready_left := v_ready_left;
      claimed_left := v_claimed_left;
      next_in_ms := v_next_in_ms;
      return next;
    end loop;
  end loop;
end
$$;
