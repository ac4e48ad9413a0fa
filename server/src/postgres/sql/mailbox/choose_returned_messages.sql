-- Locks messages for claim_messages in a mailbox that has returned messages: ends lapsed claims, and merges the returned
-- messages with the ready ones by position. Only the 1,000 messages that were returned first are considered. The positions in
-- the result are null. The callers set planner options, which this function inherits.
create function choose_returned_messages(
  p_bucket smallint,
  p_mailbox uuid,
  p_max_claims integer,
  p_from bigint,
  p_limit integer,
  p_now_ms bigint,
  p_expired_before uuid
)
returns chosen_messages language plpgsql as $$
declare
  v_max_returned constant integer := 1000;
  v_ids uuid[];
begin
  perform return_messages(p_bucket, p_mailbox, p_max_claims, p_now_ms, p_expired_before, v_max_returned);
  v_ids := array(
    select c.id
    from (
      (
        select r.id, r.position
        from (
          select m.id, m.position
          from messages m
          where m.bucket = p_bucket
            and m.mailbox_id = p_mailbox
            and m.state <> 1
            and m.state <> 2
            and m.claimable_at <= p_now_ms
            and (m.id >= p_expired_before) is true
          order by m.claimable_at
          limit v_max_returned
        ) r
        order by r.position
        limit p_limit
      )
      union all
      (
        select m.id, m.position
        from messages m
        where m.bucket = p_bucket
          and m.mailbox_id = p_mailbox
          and m.state = 1
          and m.position > p_from
          and (m.id >= p_expired_before) is true
        order by m.position
        limit p_limit
      )
    ) c
    order by c.position
    limit p_limit
  );
  return row(
    array_agg(p.id order by p.position),
    array_agg(p.ordering_key order by p.position),
    bool_or(p.ordering_key is not null),
    coalesce(sum(p.size), 0),
    null,
    min(p.id::text collate "C")::uuid,
    max(p.id::text collate "C")::uuid,
    p_from,
    null,
    cardinality(v_ids) < p_limit,
    cardinality(v_ids) > count(*),
    false,
    false
  )::chosen_messages
  from (
    select m.id, m.ordering_key, m.position, m.size
    from unnest(v_ids) as i (id)
    join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
    where m.state = 1
      or (m.state > 2 and m.claimable_at <= p_now_ms)
    for update of m skip locked
  ) p;
end
$$;
