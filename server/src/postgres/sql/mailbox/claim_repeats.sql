-- Claim-Ids: a repeated request is answered with the messages that the first request claimed, as far as they are still claimed.

-- Serializes requests with the same Claim-Id. The caller has locked no rows yet, and the locks are taken in sorted order, so
-- that two calls cannot deadlock. They are taken on the server that holds the messages (see message_keys.sql). The callers of
-- all functions in this file set planner options, which the functions inherit.
create function lock_claim_ids(p_digests bytea[], p_mailbox_ids uuid[])
returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(l.number)
  from (
    select distinct hashtextextended(i.digest::text, hashtextextended(i.mailbox_id::text, 1)) as number
    from unnest(p_digests, p_mailbox_ids) as i (digest, mailbox_id)
    where i.digest is not null
    order by 1
  ) l
  where not exists (select from messages m where m.bucket = -1);
end
$$;

-- Returns the repeated requests of a mailbox: those in p_requests whose Claim-Id is known.
create function repeated_requests(
  p_bucket smallint,
  p_mailbox uuid,
  p_requests integer[],
  p_key_ids uuid[],
  p_keys smallint[],
  p_digests bytea[]
)
returns integer[] language plpgsql as $$
begin
  return array(
    select n
    from unnest(p_requests) as n
    join message_claims c
      on c.bucket = p_bucket
      and c.mailbox_id = p_mailbox
      and c.key_id = p_key_ids[p_keys[n]]
      and c.claim_digest = p_digests[n]
  );
end
$$;

-- Answers repeated requests with the messages that are still claimed: rows like those of claim_messages.
create function repeat_claims(
  p_bucket smallint,
  p_mailbox uuid,
  p_repeated integer[],
  p_key_ids uuid[],
  p_keys smallint[],
  p_digests bytea[],
  p_now_ms bigint,
  p_expired_before uuid
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
  publication_id uuid
) language plpgsql as $$
#variable_conflict use_column
begin
  -- Most requests are no repeats, and a scan of all days of `events` is expensive to set up.
  if p_repeated = '{}' then
    return;
  end if;
  return query
  select row(n, 'repeated', null, null, null)::claim_head, null::mailbox_rest, null::uuid, null::integer,
    null::text, null::text, null::text, null::text, null::bytea, null::uuid
  from unnest(p_repeated) as n;

  return query
  with held as (
    select n, i.number, m.id, m.claimed_by, m.claim_token, m.claim_count, m.claimable_at, m.ordering_key
    from unnest(p_repeated) as n
    join message_claims c
      on c.bucket = p_bucket
      and c.mailbox_id = p_mailbox
      and c.key_id = p_key_ids[p_keys[n]]
      and c.claim_digest = p_digests[n]
    cross join unnest(c.message_ids) with ordinality as i (id, number)
    join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
    where m.claim_token = c.claim_token
      and m.claimable_at > p_now_ms
      and (m.id >= p_expired_before) is true
  )
  select row(h.n, 'repeated', h.claimed_by, h.claim_token, h.claimable_at)::claim_head, null::mailbox_rest,
    h.id, h.claim_count, h.ordering_key, e.event_type, e.correlation_id, convert_from(e.payload, 'UTF8'),
    e.trace_context, e.publication_id
  from held h
  left join lateral (
    select x.event_type, x.correlation_id, x.trace_context, x.payload, x.publication_id
    from events x
    where x.bucket = p_bucket
      and x.target_id = p_mailbox
      and x.id = h.id
    limit 1
  ) e on true
  order by h.n, h.number;
end
$$;

-- Stores which messages the requests with a Claim-Id got: message i went to the request p_requests[i].
create function remember_claims(
  p_bucket smallint,
  p_mailbox uuid,
  p_message_ids uuid[],
  p_requests integer[],
  p_key_ids uuid[],
  p_keys smallint[],
  p_digests bytea[],
  p_claim_tokens uuid[],
  p_leases_ms integer[],
  p_now_ms bigint
)
returns void language plpgsql as $$
declare
  -- How long the answer to a Claim-Id is kept past the end of its lease.
  v_keep_ms constant integer := 60000;
begin
  insert into message_claims (bucket, mailbox_id, key_id, claim_digest, claim_token, message_ids, expires_at)
  select
    p_bucket,
    p_mailbox,
    p_key_ids[p_keys[i.request]],
    p_digests[i.request],
    p_claim_tokens[i.request],
    array_agg(i.id order by i.number),
    p_now_ms + p_leases_ms[i.request] + v_keep_ms
  from unnest(p_message_ids, p_requests) with ordinality as i (id, request, number)
  where p_digests[i.request] is not null
  group by i.request;
end
$$;
