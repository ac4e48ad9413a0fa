-- The callers of these functions set planner options, which the functions inherit.

-- Moves messages to the dead messages. Messages whose ordering key another transaction has locked stay where they are, and still
-- read as dead. The caller has locked the rows. p_reasons, which may be null, has the reasons that their last holders gave.
-- Returns the number of moved messages.
create function bury_messages(
  p_bucket smallint,
  p_mailbox uuid,
  p_ids uuid[],
  p_keys text[],
  p_reasons text[],
  p_now_ms bigint,
  p_expired_before uuid
)
returns integer language plpgsql as $$
declare
  v_keys text[] := array(select distinct k from unnest(p_keys) as k where k is not null);
  v_locked text[];
  v_dead uuid[];
  v_gone_ids uuid[];
  v_claim_counts integer[];
  v_positions bigint[];
  v_gone_keys text[];
  v_reasons text[];
  v_count integer;
begin
  if cardinality(v_keys) > 0 then
    v_locked := try_lock_message_keys(p_mailbox, v_keys);
  end if;
  with gone as (
    delete from messages m
    using unnest(p_ids, p_keys, p_reasons) as i (id, ordering_key, reason)
    where m.bucket = get_byte(uuid_send(i.id), 15)
      and m.id = i.id
      and (i.ordering_key is null or i.ordering_key = any (v_locked))
    returning m.claim_count, m.id, m.position, m.ordering_key, i.reason
  )
  select
    array_agg(g.id), array_agg(g.claim_count), array_agg(g.position), array_agg(g.ordering_key), array_agg(g.reason)
  into v_gone_ids, v_claim_counts, v_positions, v_gone_keys, v_reasons
  from gone g;
  insert into closed_messages (
    bucket, dead, claim_count, mailbox_id, id, position, closed_at, ordering_key, reason
  )
  select
    p_bucket,
    true,
    g.claim_count,
    p_mailbox,
    g.id,
    g.position,
    p_now_ms,
    g.ordering_key,
    'claimed ' || g.claim_count || ' times and never acknowledged' || coalesce(': ' || g.reason, '')
  from unnest(v_gone_ids, v_claim_counts, v_positions, v_gone_keys, v_reasons)
    as g (id, claim_count, position, ordering_key, reason);
  get diagnostics v_count = row_count;
  if v_count > 0 then
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    values (p_bucket, p_now_ms / 60000, 0, 0, -v_count, p_mailbox);
    if exists (select from notification_targets) then
      v_dead := array(
        select c.id
        from closed_messages c
        where c.bucket = p_bucket
          and c.mailbox_id = p_mailbox
          and c.id = any (p_ids)
          and c.dead
          and c.closed_at = p_now_ms
      );
      perform note_dead_messages(p_mailbox, v_dead);
    end if;
  end if;
  if cardinality(v_locked) > 0 then
    perform unpark_messages(p_bucket, p_mailbox, v_locked, p_now_ms, p_expired_before);
  end if;
  return v_count;
end
$$;

-- Ends at most p_limit lapsed claims, in the order in which they lapsed. The messages count as returned since the end of the
-- lease, or become dead if the claim was the last one allowed. Returns the number of messages.
create function return_messages(
  p_bucket smallint,
  p_mailbox uuid,
  p_max_claims integer,
  p_now_ms bigint,
  p_expired_before uuid,
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_ids uuid[];
  v_poison_ids uuid[];
  v_poison_keys text[];
begin
  select
    array_agg(r.id) filter (where not r.is_poison),
    array_agg(r.id) filter (where r.is_poison),
    array_agg(r.ordering_key) filter (where r.is_poison)
  into v_ids, v_poison_ids, v_poison_keys
  from (
    select m.id, m.ordering_key, coalesce(m.claim_count >= p_max_claims, false) as is_poison
    from messages m
    where m.bucket = p_bucket
      and m.mailbox_id = p_mailbox
      and m.state <> 1
      and m.state = 2
      and m.claimable_at <= p_now_ms
    order by m.claimable_at
    limit p_limit
    for update skip locked
  ) r;
  if v_ids is not null then
    update messages m
    set state = 3,
      claimed_by = null,
      claim_token = null
    from unnest(v_ids) as i (id)
    where m.bucket = get_byte(uuid_send(i.id), 15)
      and m.id = i.id;
  end if;
  if v_poison_ids is not null then
    perform bury_messages(p_bucket, p_mailbox, v_poison_ids, v_poison_keys, null, p_now_ms, p_expired_before);
  end if;
  return coalesce(cardinality(v_ids), 0) + coalesce(cardinality(v_poison_ids), 0);
end
$$;

-- Ends the claim of one ordering key if it has lapsed; a key has at most one claimed message. Other lapsed claims of the
-- mailbox stay.
create function return_message_of_key(
  p_bucket smallint,
  p_mailbox uuid,
  p_key text,
  p_max_claims integer,
  p_now_ms bigint,
  p_expired_before uuid
)
returns void language plpgsql as $$
declare
  v_lapsed record;
begin
  select m.id, coalesce(m.claim_count >= p_max_claims, false) as is_poison
  into v_lapsed
  from messages m
  where m.bucket = p_bucket
    and m.mailbox_id = p_mailbox
    and m.ordering_key = p_key
    and m.state = 2
    and m.claimable_at <= p_now_ms
  for update skip locked;
  if not found then
    return;
  end if;
  if v_lapsed.is_poison then
    perform bury_messages(p_bucket, p_mailbox, array[v_lapsed.id], array[p_key], null, p_now_ms, p_expired_before);
  else
    update messages m
    set state = 3,
      claimed_by = null,
      claim_token = null
    where m.bucket = p_bucket
      and m.id = v_lapsed.id;
  end if;
end
$$;
