-- Makes dead messages of one mailbox claimable again, oldest first: as if they had never been claimed, at their old place
-- in the order. p_ids names them, or is null for any. At most p_limit; returns how many became claimable, or null when more
-- claims have lapsed than one transaction ends: call again.
create function redrive_messages(
  p_retention_ms bigint,
  p_bucket smallint,
  p_mailbox uuid,
  p_ids uuid[],
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_max_claims integer := (select t.max_claims from targets t where t.id = p_mailbox);
  v_count integer;
  -- Columns of the messages that become claimable again.
  v_ids uuid[];
  v_positions bigint[];
  v_keys text[];
  v_sizes integer[];
begin
  -- Messages whose last allowed claim has lapsed count as dead; they are moved to the dead messages first.
  if return_messages(p_bucket, p_mailbox, v_max_claims, v_now_ms, v_expired_before, 1000) = 1000 then
    return null;
  end if;

  with back as (
    delete from closed_messages c
    where c.bucket = p_bucket
      and c.mailbox_id = p_mailbox
      and c.id in (
        select d.id
        from closed_messages d
        where d.bucket = p_bucket
          and d.mailbox_id = p_mailbox
          and d.dead
          and d.id >= v_expired_before
          and (p_ids is null or d.id = any (p_ids))
        order by d.position
        limit p_limit
        for update skip locked
      )
    returning c.id, c.position, c.ordering_key
  )
  select
    array_agg(b.id),
    array_agg(b.position),
    array_agg(b.ordering_key),
    array_agg((
      select octet_length(coalesce(p.payload, e.payload))
      from events e
      left join publications p on p.bucket = get_byte(uuid_send(e.publication_id), 15) and p.id = e.publication_id
      where e.bucket = p_bucket
        and e.target_id = p_mailbox
        and e.id = b.id
    ))
  into v_ids, v_positions, v_keys, v_sizes
  from back b;
  insert into messages (bucket, state, size, mailbox_id, id, position, claimable_at, ordering_key)
  select p_bucket, 3, b.size, p_mailbox, b.id, b.position, v_now_ms, b.ordering_key
  from unnest(v_ids, v_positions, v_keys, v_sizes) as b (id, position, ordering_key, size);
  get diagnostics v_count = row_count;
  if v_count > 0 then
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    values (p_bucket, v_now_ms / 60000, 0, 0, v_count, p_mailbox);
  end if;
  return v_count;
end
$$;
