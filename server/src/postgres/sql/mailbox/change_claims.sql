-- Extends or releases claims for their holders. p_leases_ms is the new lease from now on, which may be shorter than before; a
-- negative value releases the message, which is claimable after p_delays_ms. A released message that has been claimed as
-- often as its mailbox allows becomes dead, with the reason that its holder gave (p_reasons, which may be null). p_unclaimed:
-- whether the claims never reached a client and so do not count. The ids are sorted, and each occurs once. Codes as in
-- close_messages.
create function change_claims(
  p_retention_ms bigint,
  p_key_hashes bytea[],
  p_keys smallint[],
  p_ids uuid[],
  p_mailbox_ids uuid[],
  p_claim_tokens uuid[],
  p_leases_ms integer[],
  p_delays_ms integer[],
  p_reasons text[],
  p_unclaimed boolean,
  out codes text,
  out freed_mailbox_ids uuid[],
  out now_ms bigint
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_key_ids uuid[];
  v_key_orgs uuid[];
  v_done integer[];
  v_box record;
begin
  now_ms := v_now_ms;
  select array_agg(k.id order by p.number), array_agg(k.org_id order by p.number)
  into v_key_ids, v_key_orgs
  from unnest(p_key_hashes) with ordinality as p (key_hash, number)
  left join api_keys k on k.key_hash = p.key_hash;

  -- One statement per mailbox, because each has its own limit of claims.
  for v_box in
    select
      m.mailbox_id,
      m.bucket,
      t.max_claims,
      array_agg(i.number::integer order by i.number) as numbers
    from unnest(p_ids) with ordinality as i (id, number)
    join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
    left join targets t on t.id = m.mailbox_id
    group by m.mailbox_id, m.bucket, t.max_claims
    order by m.mailbox_id
  loop
    declare
      v_numbers integer[];
      v_returned_ids uuid[];
      v_returned_keys text[];
      v_poison_ids uuid[];
      v_poison_keys text[];
      v_poison_reasons text[];
    begin
      with changed as (
        update messages m
        set state = case when p_leases_ms[n] >= 0 then 2 else 3 end,
          claimable_at = v_now_ms + case when p_leases_ms[n] >= 0 then p_leases_ms[n] else p_delays_ms[n] end,
          claimed_by = case when p_leases_ms[n] >= 0 then m.claimed_by end,
          claim_token = case when p_leases_ms[n] >= 0 then m.claim_token end,
          claim_count = m.claim_count - p_unclaimed::integer
        from unnest(v_box.numbers) as n
        where m.bucket = get_byte(uuid_send(p_ids[n]), 15)
          and m.mailbox_id = v_box.mailbox_id
          and m.id = p_ids[n]
          -- `+ 0` and `is true` leave the planner no index but the one by id.
          and m.state + 0 = 2
          and m.claimable_at + 0 > v_now_ms
          and m.claimed_by = v_key_ids[p_keys[n]]
          and m.claim_token = p_claim_tokens[n]
          and (m.id >= v_expired_before) is true
          and (p_mailbox_ids[n] is null or m.mailbox_id = p_mailbox_ids[n])
        returning n, m.id, m.state, m.ordering_key, m.claim_count >= v_box.max_claims as is_last
      )
      select
        array_agg(c.n),
        array_agg(c.id) filter (where c.state <> 2),
        array_agg(c.ordering_key) filter (where c.ordering_key is not null and c.state <> 2),
        array_agg(c.id) filter (where c.state <> 2 and c.is_last),
        array_agg(c.ordering_key) filter (where c.state <> 2 and c.is_last),
        array_agg(p_reasons[c.n]) filter (where c.state <> 2 and c.is_last)
      into v_numbers, v_returned_ids, v_returned_keys, v_poison_ids, v_poison_keys, v_poison_reasons
      from changed c;

      v_done := v_done || v_numbers;
      if v_returned_keys is not null then
        perform lock_message_keys(v_box.mailbox_id, v_returned_keys);
        perform unpark_messages(v_box.bucket, v_box.mailbox_id, v_returned_keys, v_now_ms, v_expired_before);
      end if;
      if v_poison_ids is not null then
        perform bury_messages(
          v_box.bucket, v_box.mailbox_id, v_poison_ids, v_poison_keys, v_poison_reasons, v_now_ms,
          v_expired_before
        );
      end if;
      if v_returned_ids is not null then
        freed_mailbox_ids := freed_mailbox_ids || v_box.mailbox_id;
      end if;
    end;
  end loop;

  select string_agg(
    case
      when i.number = any (v_done) then 'k'
      when v_key_ids[i.key] is null then 'u'
      else message_refusal(
        i.id, v_key_ids[i.key], v_key_orgs[i.key], i.mailbox_id, i.claim_token, null, v_now_ms, v_expired_before
      )
    end,
    ''
    order by i.number
  )
  into codes
  from unnest(p_ids, p_keys, p_mailbox_ids, p_claim_tokens) with ordinality
    as i (id, key, mailbox_id, claim_token, number);
end
$$;
