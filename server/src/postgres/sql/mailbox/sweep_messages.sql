-- Removes messages past retention from the hot table, at most p_limit per bucket: their status is EXPIRED already, which is
-- derived from their ids. Returns the number of removed messages.
create function sweep_messages(
  p_retention_ms bigint,
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_bucket smallint;
  v_count integer := 0;
  v_gone integer;
  v_ids uuid[];
  v_mailboxes uuid[];
  v_keys text[];
begin
  for v_bucket in
    select b
    from generate_series(0, 255) as b
    where exists (
      select
      from messages m
      where m.bucket = b
        and m.id < v_expired_before
    )
  loop
    select array_agg(x.id), array_agg(x.mailbox_id), array_agg(x.ordering_key)
    into v_ids, v_mailboxes, v_keys
    from (
      select m.id, m.mailbox_id, m.ordering_key
      from messages m
      where m.bucket = v_bucket
        and m.id < v_expired_before
      limit p_limit
    ) x;
    -- Messages of a busy key are left for the next sweep: the key's next message must be chosen under the key's lock.
    v_ids := array(
      select x.id
      from unnest(v_ids, v_mailboxes, v_keys) as x (id, mailbox_id, ordering_key)
      where not exists (select from messages m where m.bucket = -1)
        and (
          x.ordering_key is null
          or pg_try_advisory_xact_lock(message_key_lock(x.mailbox_id, x.ordering_key))
        )
    );
    with gone as (
      delete from messages m
      using (
        select x.id
        from unnest(v_ids) as i (id)
        join messages x on x.bucket = v_bucket and x.id = i.id
        for update of x skip locked
      ) old
      where m.bucket = v_bucket
        and m.id = old.id
      returning m.mailbox_id, m.ordering_key
    )
    select count(*), array_agg(g.mailbox_id), array_agg(g.ordering_key)
    into v_gone, v_mailboxes, v_keys
    from gone g;
    v_count := v_count + v_gone;
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    select v_bucket, v_now_ms / 60000, 0, 0, -count(*), g.mailbox_id
    from unnest(v_mailboxes) as g (mailbox_id)
    group by g.mailbox_id;
    perform unpark_messages(v_bucket, k.mailbox_id, array_agg(distinct k.ordering_key), v_now_ms, v_expired_before)
    from unnest(v_mailboxes, v_keys) as k (mailbox_id, ordering_key)
    where k.ordering_key is not null
    group by k.mailbox_id;
  end loop;
  return v_count;
end
$$;
