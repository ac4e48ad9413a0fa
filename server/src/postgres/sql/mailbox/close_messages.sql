-- Closes messages for the holders of their claims: as acknowledged, or as dead with a reason. A claim is identified by its
-- message, its API key and its token; without a token, by message and key. Checks the keys, so that a deleted key closes
-- nothing. The caller sorts the messages by id, so that two calls cannot deadlock.
--
-- codes has one character for each message: k done, u unauthorized, and those of message_refusal. freed_mailbox_ids: the
-- mailboxes in which other messages became claimable.
create function close_messages(
  p_retention_ms bigint,
  p_key_hashes bytea[],
  p_keys smallint[],
  p_ids uuid[],
  p_mailbox_ids uuid[],
  p_claim_tokens uuid[],
  p_reasons text[],
  out codes text,
  out freed_mailbox_ids uuid[]
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_key_ids uuid[];
  v_key_orgs uuid[];
  v_done integer[];
  v_one record;
  v_gone record;
  v_keyed_mailboxes uuid[];
  v_keyed_keys text[];
  v_keyed record;
  v_unparked integer;
begin
  select array_agg(k.id order by p.number), array_agg(k.org_id order by p.number)
  into v_key_ids, v_key_orgs
  from unnest(p_key_hashes) with ordinality as p (key_hash, number)
  left join api_keys k on k.key_hash = p.key_hash;

  if cardinality(p_ids) = 1 then
    -- Most calls close one message, and need no arrays.
    delete from messages m
    where m.bucket = get_byte(uuid_send(p_ids[1]), 15)
      and m.id = p_ids[1]
      and m.state + 0 = 2
      and m.claimable_at + 0 > v_now_ms
      and m.claimed_by = v_key_ids[p_keys[1]]
      and (m.id >= v_expired_before) is true
      and (p_claim_tokens[1] is null or m.claim_token = p_claim_tokens[1])
      and (p_mailbox_ids[1] is null or m.mailbox_id = p_mailbox_ids[1])
    returning m.bucket, m.claim_count, m.mailbox_id, m.position, m.claimed_by, m.claim_token, m.ordering_key
    into v_one;
    if found then
      v_done := array[1];
      insert into closed_messages (
        bucket, dead, claim_count, mailbox_id, id, position, closed_at, claimed_by, claim_token, ordering_key, reason
      )
      values (
        v_one.bucket, p_reasons[1] is not null, v_one.claim_count, v_one.mailbox_id, p_ids[1], v_one.position, v_now_ms,
        v_one.claimed_by, v_one.claim_token, v_one.ordering_key, p_reasons[1]
      );
      insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
      values (
        v_one.bucket, v_now_ms / 60000, 0, case when p_reasons[1] is null then 1 else 0 end, -1, v_one.mailbox_id
      );
      if v_one.ordering_key is not null then
        v_keyed_mailboxes := array[v_one.mailbox_id];
        v_keyed_keys := array[v_one.ordering_key];
      end if;
    end if;
  else
    with gone as (
      delete from messages m
      using unnest(p_ids, p_keys, p_mailbox_ids, p_claim_tokens, p_reasons) with ordinality
        as i (id, key, mailbox_id, claim_token, reason, number)
      where m.bucket = get_byte(uuid_send(i.id), 15)
        and m.id = i.id
        -- `+ 0` and `is true` leave the planner no index but the one by id.
        and m.state + 0 = 2
        and m.claimable_at + 0 > v_now_ms
        and m.claimed_by = v_key_ids[i.key]
        and (m.id >= v_expired_before) is true
        and (i.claim_token is null or m.claim_token = i.claim_token)
        and (i.mailbox_id is null or m.mailbox_id = i.mailbox_id)
      -- One array of rows: one array for each column took 50 % longer.
      returning (
        i.number::integer, m.bucket, m.claim_count, m.mailbox_id, m.id, m.position, m.claimed_by, m.claim_token,
        m.ordering_key, i.reason
      )::closing_message as message
    )
    select array_agg(g.message) as messages, count((g.message).ordering_key) > 0 as has_keys
    into v_gone
    from gone g;

    if v_gone.messages is not null then
      with noted as (
        insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
        select
          min(c.bucket), v_now_ms / 60000, 0, count(*) filter (where c.reason is null), -count(*), c.mailbox_id
        from unnest(v_gone.messages) c
        group by c.mailbox_id
      )
      insert into closed_messages (
        bucket, dead, claim_count, mailbox_id, id, position, closed_at, claimed_by, claim_token, ordering_key, reason
      )
      select
        c.bucket, c.reason is not null, c.claim_count, c.mailbox_id, c.id, c.position, v_now_ms, c.claimed_by,
        c.claim_token, c.ordering_key, c.reason
      from unnest(v_gone.messages) c;
      if cardinality(v_gone.messages) = cardinality(p_ids) and array_remove(p_reasons, null) = '{}' and not v_gone.has_keys then
        codes := repeat('k', cardinality(p_ids));
        return;
      end if;
      v_done := array(select c.number from unnest(v_gone.messages) c);
      if v_gone.has_keys then
        select array_agg(c.mailbox_id), array_agg(c.ordering_key)
        into v_keyed_mailboxes, v_keyed_keys
        from unnest(v_gone.messages) c
        where c.ordering_key is not null;
      end if;
    end if;
  end if;

  -- A rejection always names the mailbox.
  if array_remove(p_reasons, null) <> '{}' and v_done is not null then
    perform note_dead_messages(r.mailbox_id, r.ids)
    from (
      select p_mailbox_ids[n] as mailbox_id, array_agg(p_ids[n]) as ids
      from unnest(v_done) as n
      where p_reasons[n] is not null
      group by p_mailbox_ids[n]
    ) r;
  end if;

  if v_keyed_keys is not null then
    for v_keyed in
      select k.mailbox_id, array_agg(k.ordering_key) as keys
      from unnest(v_keyed_mailboxes, v_keyed_keys) as k (mailbox_id, ordering_key)
      group by k.mailbox_id
      order by k.mailbox_id
    loop
      perform lock_message_keys(v_keyed.mailbox_id, v_keyed.keys);
      v_unparked := unpark_messages(
        get_byte(uuid_send(v_keyed.mailbox_id), 15)::smallint, v_keyed.mailbox_id, v_keyed.keys, v_now_ms,
        v_expired_before
      );
      if v_unparked > 0 then
        freed_mailbox_ids := freed_mailbox_ids || v_keyed.mailbox_id;
      end if;
    end loop;
  end if;

  if cardinality(v_done) = cardinality(p_ids) then
    codes := repeat('k', cardinality(p_ids));
    return;
  end if;
  select string_agg(
    case
      when i.number = any (v_done) then 'k'
      when v_key_ids[i.key] is null then 'u'
      else message_refusal(
        i.id, v_key_ids[i.key], v_key_orgs[i.key], i.mailbox_id, i.claim_token, i.reason is not null, v_now_ms,
        v_expired_before
      )
    end,
    ''
    order by i.number
  )
  into codes
  from unnest(p_ids, p_keys, p_mailbox_ids, p_claim_tokens, p_reasons) with ordinality
    as i (id, key, mailbox_id, claim_token, reason, number);
  if v_done is null and strpos(codes, 'k') > 0 then
    -- As in accept_items: a repeat that writes nothing would not wait for a synchronous standby.
    perform pg_logical_emit_message(true, 'postrider', 'repeat'::text);
  end if;
end
$$;
