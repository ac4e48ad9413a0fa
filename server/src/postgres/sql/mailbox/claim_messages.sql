-- Claims the oldest messages of mailboxes for many requests in one transaction. Requests of one mailbox share one scan of its
-- ready messages, and get them in the order of the requests. Checks the API keys, so that a deleted key claims nothing.
--
-- Returns one row for each claimed message. `head` has the common part of one request's messages, and is null when it equals
-- that of the message before. A message whose event is gone has no payload. A row without an id has another outcome of a
-- request (`head`), or the messages left in a mailbox (`rest`). A request without any row got nothing. One call claims at
-- most about 16 MiB of payloads in a mailbox (or one message). Callers repeat a request that got fewer messages than there
-- are.
--
-- p_watermarks has a position for each request: as far as the caller knows, the mailbox has no ready message before it (0
-- when the caller knows nothing). A scan from the first message would pass the index entries of all messages that were
-- claimed since the last vacuum. Returned and redriven messages are not missed, because only new messages become ready. A
-- message whose transaction committed late is missed until a scan from 0, which this function makes by itself before it
-- returns fewer messages than wanted.
create function claim_messages(
  p_retention_ms bigint,
  p_key_hashes bytea[],
  p_keys smallint[],
  p_mailbox_ids uuid[],
  p_claim_tokens uuid[],
  p_maxes smallint[],
  p_leases_ms integer[],
  p_claim_digests bytea[],
  p_watermarks bigint[]
)
returns table (
  head claim_head,
  rest mailbox_rest,
  id uuid,
  claim_count integer,
  ordering_key text,
  event_type text,
  correlation_id text,
  payload text,
  trace_context bytea,
  -- The publication that has the payload (publication_payloads); null for most.
  publication_id uuid
) language plpgsql as $$
#variable_conflict use_column
declare
  -- The database's own clock, because those of the nodes disagree.
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_max_bytes constant integer := 16777216;
  v_max_tries constant integer := 8;
  v_key_ids uuid[];
  v_key_orgs uuid[];
  -- The customer that a key is limited to; null for a key without this limit.
  v_key_customers text[];
  v_box record;
  v_repeated integer[];
  -- The number of the request of each wanted message.
  v_slots integer[];
  v_wanted integer;
  v_taken integer;
  v_limit integer;
  v_tries integer;
  v_from bigint;
  v_is_whole boolean;
  v_is_busy boolean;
  v_is_cut boolean;
  v_bytes bigint;
  v_choice chosen_messages;
  v_all_ids uuid[];
begin
  select
    array_agg(k.id order by p.number),
    array_agg(k.org_id order by p.number),
    array_agg(k.customer_uid order by p.number)
  into v_key_ids, v_key_orgs, v_key_customers
  from unnest(p_key_hashes) with ordinality as p (key_hash, number)
  left join api_keys k on k.key_hash = p.key_hash;

  if p_claim_digests is not null then
    perform lock_claim_ids(p_claim_digests, p_mailbox_ids);
  end if;

  for v_box in
    select
      i.mailbox_id as id,
      get_byte(uuid_send(i.mailbox_id), 15)::smallint as bucket,
      t.max_claims,
      array_agg(i.number::integer order by i.number) filter (where r.is_reached) as requests,
      array_agg(i.number::integer) filter (where r.is_reached is not true) as refused
    from unnest(p_mailbox_ids, p_keys) with ordinality as i (mailbox_id, key, number)
    left join targets t on t.id = i.mailbox_id and t.kind = 'mailbox'
    -- The customer is checked here, too: the request was authorized before the claim waited, and the mailbox may have moved
    -- to another customer.
    cross join lateral (
      select
        t.org_id = v_key_orgs[i.key]
        and (v_key_customers[i.key] is null or t.customer_uid = v_key_customers[i.key]) as is_reached
    ) r
    group by i.mailbox_id, t.max_claims
    order by i.mailbox_id
  loop
    if v_box.refused is not null then
      return query
      select
        row(n, case when v_key_ids[p_keys[n]] is null then 'unauthorized' else 'not_found' end, null, null, null)
          ::claim_head,
        null::mailbox_rest, null::uuid, null::integer, null::text, null::text, null::text, null::text, null::bytea,
        null::uuid
      from unnest(v_box.refused) as n;
    end if;
    continue when v_box.requests is null;

    v_slots := array(
      select n
      from unnest(v_box.requests) as n
      cross join generate_series(1, p_maxes[n])
    );
    if p_claim_digests is not null then
      v_repeated := repeated_requests(
        v_box.bucket, v_box.id, v_box.requests, v_key_ids, p_keys, p_claim_digests
      );
      return query
      select *
      from repeat_claims(
        v_box.bucket, v_box.id, v_repeated, v_key_ids, p_keys, p_claim_digests, v_now_ms, v_expired_before
      );
      v_slots := array(
        select s.n
        from unnest(v_slots) with ordinality as s (n, number)
        where s.n <> all (v_repeated)
        order by s.number
      );
    end if;
    v_wanted := cardinality(v_slots);
    continue when v_wanted = 0;

    v_taken := 0;
    v_tries := 0;
    v_from := case
      when positions_by_clock() then walk_by_clock(p_watermarks[v_slots[1]], v_now_ms)
      else p_watermarks[v_slots[1]]
    end;
    v_is_whole := v_from = 0;
    v_limit := v_wanted;
    v_is_busy := false;
    v_is_cut := false;
    v_bytes := 0;
    v_all_ids := '{}';
    loop
      v_tries := v_tries + 1;
      if exists (
        select
        from messages m
        where m.bucket = v_box.bucket
          and m.mailbox_id = v_box.id
          and m.state <> 1
          and m.claimable_at <= v_now_ms
          and (m.id >= v_expired_before) is true
      ) then
        v_choice := choose_returned_messages(
          v_box.bucket, v_box.id, v_box.max_claims, v_from, v_limit, v_now_ms, v_expired_before
        );
      else
        -- Not in a separate function: that made a claim of one message 2 % more expensive.
        select
          array_agg(p.id),
          array_agg(p.ordering_key),
          bool_or(p.ordering_key is not null),
          coalesce(sum(p.size), 0),
          array_agg(p.position),
          min(p.id::text collate "C")::uuid,
          max(p.id::text collate "C")::uuid,
          coalesce(max(p.position), v_from),
          null::integer,
          count(*) < v_limit,
          false,
          false,
          false
        into v_choice
        from (
          select m.id, m.ordering_key, m.position, m.size
          from messages m
          where m.bucket = v_box.bucket
            and m.mailbox_id = v_box.id
            and m.state = 1
            and m.position > v_from
            -- `is true` keeps the planner from scanning the index by id.
            and (m.id >= v_expired_before) is true
          order by m.position
          limit v_limit
          for update skip locked
        ) p;
      end if;
      if v_choice.is_keyed
        or v_choice.bytes > v_max_bytes - v_bytes
        or cardinality(v_choice.ids) > v_wanted - v_taken
      then
        v_choice := narrow_choice(
          v_box.bucket, v_box.id, v_choice, v_wanted - v_taken, v_max_bytes - v_bytes, v_taken = 0, v_now_ms,
          v_expired_before
        );
        v_is_cut := v_is_cut or v_choice.is_cut;
        if v_choice.is_cut then
          v_wanted := v_taken + v_choice.room;
        end if;
      end if;
      -- Positions from the clock are not unique: another message may have the same one.
      v_from := case
        when positions_by_clock() then greatest(v_choice.walked_to - 1, 0)
        else v_choice.walked_to
      end;
      v_is_busy := v_is_busy or v_choice.is_busy;
      v_bytes := v_bytes + v_choice.bytes;

      if v_choice.ids <> '{}' then
        -- Not in a separate function: that would write every payload to one more tuplestore.
        return query
        with leased as (
          update messages m
          set state = 2,
            claim_count = m.claim_count + 1,
            claimable_at = v_now_ms + p_leases_ms[i.request],
            claimed_by = holder.key_id,
            claim_token = holder.token
          from unnest(v_choice.ids, v_slots[v_taken + 1 : v_taken + cardinality(v_choice.ids)]) with ordinality
            as i (id, request, number)
          cross join lateral (
            select v_key_ids[p_keys[i.request]] as key_id, p_claim_tokens[i.request] as token
          ) holder
          -- The bucket comes from each id here and wherever ids are looked up: with one bucket for all, a plan
          -- made while the table was empty reads the whole bucket to find ten messages.
          where m.bucket = get_byte(uuid_send(i.id), 15)
            and m.id = i.id
          returning
            i.number, i.request, m.id, m.claimed_by, m.claim_token, m.claim_count, m.claimable_at, m.ordering_key
        )
        select
          case
            when l.number = 1 or v_slots[v_taken + l.number::integer - 1] <> l.request then
              row(l.request, 'claimed', l.claimed_by, l.claim_token, l.claimable_at)::claim_head
          end,
          null::mailbox_rest,
          l.id, l.claim_count, l.ordering_key, e.event_type, e.correlation_id, convert_from(e.payload, 'UTF8'),
          e.trace_context, e.publication_id
        from leased l
        -- `limit 1` keeps the planner from a join that reads the whole range. With the range of ids in plain variables, the
        -- executor prunes the other days of `events` at its start.
        left join lateral (
          select x.event_type, x.correlation_id, x.trace_context, x.payload, x.publication_id
          from events x
          where x.bucket = v_box.bucket
            and x.target_id = v_box.id
            and x.id = l.id
            and x.id between v_choice.low_id and v_choice.high_id
          limit 1
        ) e on true
        order by l.number;
        v_taken := v_taken + cardinality(v_choice.ids);
        if p_claim_digests is not null then
          v_all_ids := v_all_ids || v_choice.ids;
        end if;
      end if;
      -- Skipped messages come first in the order, and many may have the same key: the next scan reads 64 messages more.
      v_limit := v_wanted - v_taken + case when v_choice.is_keyed then 64 else 0 end;
      exit when v_taken >= v_wanted or v_tries = v_max_tries;
      if v_choice.is_last and not v_choice.is_restarted then
        exit when v_is_whole;
        v_is_whole := true;
        v_from := 0;
      end if;
    end loop;

    if p_claim_digests is not null and v_taken > 0 then
      perform remember_claims(
        v_box.bucket, v_box.id, v_all_ids, v_slots[1 : v_taken], v_key_ids, p_keys, p_claim_digests,
        p_claim_tokens, p_leases_ms, v_now_ms
      );
    end if;

    rest := left_in_mailbox(
      v_box.bucket, v_box.id, v_from, v_taken = v_wanted, v_is_busy,
      v_is_cut or (v_taken < v_wanted and (v_choice.is_restarted or not v_choice.is_last)),
      v_now_ms, v_expired_before
    );
    return next;
  end loop;
end
$$;
