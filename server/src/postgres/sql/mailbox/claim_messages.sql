-- Claims messages for many requests in one transaction, each the oldest of its mailbox: requests of one mailbox
-- share one walk over its ready messages and get them in the order of the requests. Checks the API keys, so that
-- a deleted key claims nothing.
--
-- Gives a row per claimed message. What the messages of one request have in common is said once, because each column
-- costs the caller as much as it costs here: `held` is null where it is the same as in the message before, and else has,
-- with spaces between, the number of the request, claimed_by, claim_token and the end of the lease. A message whose event
-- is gone has no payload. Rows without an id say something else in `held`, after a letter:
--   b what is left in a mailbox: its id, how many are ready and how many claimed, each counted up to 100; when an empty
--     request should ask again as far as this transaction could tell, in milliseconds (0 when something is claimable that
--     it had to pass over, - while nothing waits); and how far the ready messages have been claimed, 0 when some had to be
--     passed over
--   r the number of a repeated request: what its Claim-Id was answered follows, as far as that is still claimed
--   u the number of an unauthorized request      n of one with no such mailbox in the key's organization
-- A request without any row is empty. One call claims at most some 16 MiB of payloads in a mailbox (or one message);
-- the requests that get less than there is ask again.
--
-- p_places has for each request a position before which its mailbox has no ready message as far as the caller
-- knows (0 when it knows nothing): between two vacuums, the walk from the very first one would pass the index
-- entries of all that was claimed meanwhile. Only new messages become ready, so what is returned or
-- redriven is not missed; a message whose transaction committed late is, until a walk from 0, which this function
-- takes by itself before it answers that there are not enough.
create function claim_messages(
  p_retention_ms bigint,
  p_key_hashes bytea[],
  p_keys smallint[],
  p_mailbox_ids uuid[],
  p_claim_tokens uuid[],
  p_maxes smallint[],
  p_leases_ms integer[],
  p_claim_digests bytea[],
  p_places bigint[]
)
returns table (
  held text,
  id uuid,
  claim_count integer,
  ordering_key text,
  event_type text,
  correlation_id text,
  payload text
)
language plpgsql
as $$
#variable_conflict use_column
declare
  -- The database's own clock, because those of the nodes disagree.
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  -- How long the answer to a Claim-Id is kept past the end of its lease.
  v_keep_ms constant integer := 60000;
  v_max_counted constant integer := 100;
  v_max_bytes constant integer := 16777216;
  v_key_ids uuid[];
  v_key_orgs uuid[];
  v_box record;
  -- The request of each message that is wanted.
  v_slots integer[];
  v_wanted integer;
  v_taken integer;
  v_limit integer;
  v_tries integer;
  v_from bigint;
  v_is_whole boolean;
  v_chosen integer;
  v_is_last boolean;
  v_is_busy boolean;
  v_is_keyed boolean;
  v_is_restarted boolean;
  v_ids uuid[];
  v_all_ids uuid[];
  v_keys text[];
  v_picked uuid[];
  v_positions bigint[];
  v_bytes bigint;
  v_all_bytes bigint;
  v_room integer;
  v_is_cut boolean;
  v_choice record;
  v_low uuid;
  v_high uuid;
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
      t.max_claims,
      array_agg(i.number::integer order by i.number) filter (where t.org_id = v_key_orgs[i.key]) as requests,
      array_agg(i.number::integer) filter (where (t.org_id = v_key_orgs[i.key]) is not true) as refused
    from unnest(p_mailbox_ids, p_keys) with ordinality as i (mailbox_id, key, number)
    left join targets t on t.id = i.mailbox_id and t.kind = 'mailbox'
    group by i.mailbox_id, t.max_claims
    order by i.mailbox_id
  loop
    if v_box.refused is not null then
      return query
      select concat_ws(' ', case when v_key_ids[p_keys[n]] is null then 'u' else 'n' end, n),
        null::uuid, null::integer, null::text, null::text, null::text, null::text
      from unnest(v_box.refused) as n;
    end if;
    continue when v_box.requests is null;
    v_slots := array(
      select n
      from unnest(v_box.requests) as n
      cross join generate_series(1, p_maxes[n])
    );

    if p_claim_digests is not null then
      return query
      with repeated as (
        select n, c.claim_token, c.message_ids
        from (select distinct n from unnest(v_slots) as n) asking
        join message_claims c
          on c.bucket = v_box.bucket
          and c.mailbox_id = v_box.id
          and c.key_id = v_key_ids[p_keys[n]]
          and c.claim_digest = p_claim_digests[n]
      ),
      held as (
        select r.n, i.number, m.id, m.claimed_by, m.claim_token, m.claim_count, m.claimable_at, m.ordering_key
        from repeated r
        cross join unnest(r.message_ids) with ordinality as i (id, number)
        join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
        where m.claim_token = r.claim_token
          and m.claimable_at > v_now_ms
          and (m.id >= v_expired_before) is true
      )
      select concat_ws(' ', 'r', r.n), null::uuid, null::integer, null::text, null::text, null::text, null::text
      from repeated r
      union all
      (
        select concat_ws(' ', h.n, h.claimed_by, h.claim_token, h.claimable_at), h.id, h.claim_count, h.ordering_key,
          e.event_type, e.correlation_id, convert_from(e.payload, 'UTF8')
        from held h
        left join lateral (
          select x.event_type, x.correlation_id, x.payload
          from events x
          where x.bucket = v_box.bucket
            and x.target_id = v_box.id
            and x.id = h.id
          limit 1
        ) e on true
        order by h.n, h.number
      );
      v_slots := array(
        select s.n
        from unnest(v_slots) with ordinality as s (n, number)
        where not exists (
          select
          from message_claims c
          where c.bucket = v_box.bucket
            and c.mailbox_id = v_box.id
            and c.key_id = v_key_ids[p_keys[s.n]]
            and c.claim_digest = p_claim_digests[s.n]
        )
        order by s.number
      );
      continue when cardinality(v_slots) = 0;
    end if;
    v_wanted := cardinality(v_slots);

    v_taken := 0;
    v_tries := 0;
    v_from := p_places[v_slots[1]];
    v_is_whole := v_from = 0;
    v_limit := v_wanted;
    v_is_busy := false;
    v_is_restarted := false;
    v_is_cut := false;
    v_all_bytes := 0;
    v_all_ids := '{}';
    loop
      v_tries := v_tries + 1;
      -- In both ways, the range of ids as plain variables lets the executor leave out the other days of `events` at
      -- its start, and "is true" keeps the planner from walking the ids.
      if exists (
        select
        from messages m
        where m.bucket = v_box.bucket
          and m.mailbox_id = v_box.id
          and m.state <> 1
          and m.claimable_at <= v_now_ms
          and (m.id >= v_expired_before) is true
      ) then
        -- The returned ones, oldest first as far as the first thousand go, merged with the ready ones.
        perform return_messages(v_box.bucket, v_box.id, v_box.max_claims, v_now_ms, v_expired_before, 1000);
        v_ids := array(
          select c.id
          from (
            (
              select r.id, r.position
              from (
                select m.id, m.position
                from messages m
                where m.bucket = v_box.bucket
                  and m.mailbox_id = v_box.id
                  and m.state <> 1
                  and m.state <> 2
                  and m.claimable_at <= v_now_ms
                  and (m.id >= v_expired_before) is true
                order by m.claimable_at
                limit 1000
              ) r
              order by r.position
              limit v_limit
            )
            union all
            (
              select m.id, m.position
              from messages m
              where m.bucket = v_box.bucket
                and m.mailbox_id = v_box.id
                and m.state = 1
                and m.position > v_from
                and (m.id >= v_expired_before) is true
              order by m.position
              limit v_limit
            )
          ) c
          order by c.position
          limit v_limit
        );
        v_chosen := cardinality(v_ids);
        select
          array_agg(p.id order by p.position),
          array_agg(p.ordering_key order by p.position),
          bool_or(p.ordering_key is not null),
          sum(p.size),
          min(p.id::text collate "C")::uuid,
          max(p.id::text collate "C")::uuid
        into v_ids, v_keys, v_is_keyed, v_bytes, v_low, v_high
        from (
          select m.id, m.ordering_key, m.position, m.size
          from unnest(v_ids) as i (id)
          join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
          where m.state = 1
            or (m.state > 2 and m.claimable_at <= v_now_ms)
          for update of m skip locked
        ) p;
        v_positions := null;
        v_is_last := v_chosen < v_limit;
        v_is_busy := v_is_busy or v_chosen > coalesce(cardinality(v_ids), 0);
      else
        select
          array_agg(p.id),
          array_agg(p.ordering_key),
          bool_or(p.ordering_key is not null),
          sum(p.size),
          array_agg(p.position),
          min(p.id::text collate "C")::uuid,
          max(p.id::text collate "C")::uuid
        into v_ids, v_keys, v_is_keyed, v_bytes, v_positions, v_low, v_high
        from (
          select m.id, m.ordering_key, m.position, m.size
          from messages m
          where m.bucket = v_box.bucket
            and m.mailbox_id = v_box.id
            and m.state = 1
            and m.position > v_from
            and (m.id >= v_expired_before) is true
          order by m.position
          limit v_limit
          for update skip locked
        ) p;
        v_is_last := v_ids is null or cardinality(v_ids) < v_limit;
        v_from := coalesce(v_positions[cardinality(v_positions)], v_from);
      end if;

      v_picked := v_ids;
      v_is_restarted := false;
      if v_is_keyed then
        v_choice := choose_keyed_messages(
          v_box.bucket, v_box.id, v_ids, v_keys, v_now_ms, v_expired_before
        );
        v_ids := v_choice.ids;
        v_is_busy := v_is_busy or v_choice.skipped;
        v_is_restarted := v_choice.unparked;
      end if;
      v_room := v_wanted - v_taken;
      if v_all_bytes + v_bytes > v_max_bytes then
        select greatest(count(*) filter (where s.total <= v_max_bytes - v_all_bytes), (v_taken = 0)::integer)
        into v_room
        from (
          select sum(m.size) over (order by i.number) as total
          from unnest(v_ids[1 : v_room]) with ordinality as i (id, number)
          join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
        ) s;
        v_wanted := v_taken + v_room;
        v_is_cut := true;
      end if;
      v_all_bytes := v_all_bytes + coalesce(v_bytes, 0);
      if cardinality(v_ids) > v_room then
        v_ids := v_ids[1 : v_room];
        if v_positions is not null then
          v_from := coalesce(v_positions[array_position(v_picked, v_ids[v_room])], 0);
        end if;
      end if;

      if v_ids <> '{}' then
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
              concat_ws(' ', l.request, l.claimed_by, l.claim_token, l.claimable_at)
          end,
          l.id, l.claim_count, l.ordering_key, e.event_type, e.correlation_id, convert_from(e.payload, 'UTF8')
        from leased l
        -- The limit keeps the planner from reading the whole range for a join.
        left join lateral (
          select x.event_type, x.correlation_id, x.payload
          from events x
          where x.bucket = v_box.bucket
            and x.target_id = v_box.id
            and x.id = l.id
            and x.id between v_low and v_high
          limit 1
        ) e on true
        order by l.number;
        v_taken := v_taken + cardinality(v_ids);
        v_all_ids := v_all_ids || v_ids;
      end if;
      -- Those passed over are before the rest, and many may be of one key: look further at once.
      v_limit := v_wanted - v_taken + case when v_is_keyed then 64 else 0 end;
      exit when v_taken >= v_wanted or v_tries = 8;
      if v_is_last and not v_is_restarted then
        exit when v_is_whole;
        v_is_whole := true;
        v_from := 0;
      end if;
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

    select concat_ws(
      ' ',
      'b',
      v_box.id,
      (
        select count(*)
        from (
          (
            select
            from messages m
            where v_taken = v_wanted
              and m.bucket = v_box.bucket
              and m.mailbox_id = v_box.id
              and m.state = 1
              and m.position > v_from
            limit v_max_counted
          )
          union all
          (
            select
            from messages m
            where m.bucket = v_box.bucket
              and m.mailbox_id = v_box.id
              and m.state <> 1
              and m.state <> 2
              and m.claimable_at <= v_now_ms
            limit v_max_counted
          )
          limit v_max_counted
        ) ready
      ),
      (
        select count(*)
        from (
          select
          from messages m
          where m.bucket = v_box.bucket
            and m.mailbox_id = v_box.id
            and m.state <> 1
            and m.state = 2
            and m.claimable_at > v_now_ms
          limit v_max_counted
        ) claimed
      ),
      coalesce(
        case
          when v_is_cut then 0
          when v_taken = v_wanted then null
          when v_is_busy or v_is_restarted or not v_is_last then 0
          else (
            select case when m.claimable_at > v_now_ms then m.claimable_at - v_now_ms else 0 end
            from messages m
            where m.bucket = v_box.bucket
              and m.mailbox_id = v_box.id
              and m.state <> 1
              and (m.id >= v_expired_before) is true
            order by m.claimable_at
            limit 1
          )
        end::text,
        '-'
      ),
      case when v_is_busy then 0 else v_from end
    )
    into held;
    return next;
  end loop;
end
$$;
