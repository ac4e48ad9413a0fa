-- Ordering keys. A transaction that chooses the next message of a key holds the key's advisory lock until its end, and reads
-- the key's messages in a statement that began after it got the lock; so two transactions never choose from the same state.
-- Claims only try to get the lock and skip a busy key: they never wait while they hold row locks.
--
-- Each statement that takes the lock also names the messages table (with bucket -1, which no row has), so that Citus executes
-- it on the server that holds the mailbox's messages, wherever the function runs. The callers of these functions set planner
-- options, which the functions inherit.

create function message_key_lock(p_mailbox uuid, p_key text)
returns bigint
language sql
immutable
as $$
  select hashtextextended(p_key, hashtextextended(p_mailbox::text, 0))
$$;

-- Locks the keys that are free, without waiting; returns the locked keys.
create function try_lock_message_keys(p_mailbox uuid, p_keys text[])
returns text[] language plpgsql as $$
begin
  return array(
    select k.ordering_key
    from unnest(p_keys) as k (ordering_key)
    where not exists (select from messages m where m.bucket = -1)
      and pg_try_advisory_xact_lock(message_key_lock(p_mailbox, k.ordering_key))
  );
end
$$;

-- Locks all the keys, waiting for busy ones, in an order that all callers share.
create function lock_message_keys(p_mailbox uuid, p_keys text[])
returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(l.number)
  from (
    select distinct message_key_lock(p_mailbox, k.ordering_key) as number
    from unnest(p_keys) as k (ordering_key)
    order by 1
  ) l
  where not exists (select from messages m where m.bucket = -1);
end
$$;

-- Makes the first message of each key claimable if it was parked and no message of the key is claimed. The caller holds the
-- keys' locks.
create function unpark_messages(
  p_bucket smallint,
  p_mailbox uuid,
  p_keys text[],
  p_now_ms bigint,
  p_expired_before uuid
)
returns integer language plpgsql as $$
declare
  v_count integer;
begin
  update messages m
  set state = 3,
    claimable_at = p_now_ms
  from (
    select head.id
    from unnest(p_keys) as k (ordering_key)
    cross join lateral (
      select h.id, h.state
      from messages h
      where h.bucket = p_bucket
        and h.mailbox_id = p_mailbox
        and h.ordering_key = k.ordering_key
        and (h.id >= p_expired_before) is true
      order by h.position
      limit 1
    ) head
    where head.state = 4
      and not exists (
        select
        from messages c
        where c.bucket = p_bucket
          and c.mailbox_id = p_mailbox
          and c.ordering_key = k.ordering_key
          and c.state = 2
      )
  ) head
  where m.bucket = get_byte(uuid_send(head.id), 15)
    and m.id = head.id
    -- `+ 0` leaves the planner no index but the one by id: another one has all blocked messages.
    and m.state + 0 = 4;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Chooses the messages that may be claimed from claimable messages that the caller has locked, some with ordering keys: a
-- message with a key must be the first of its key, and no other message of the key may be claimed. Parks messages that wait
-- behind another one, and up to a thousand after them that the caller did not pass, so that a long queue of one key does not
-- block other messages. Nothing is read before the first of them: that may be all that is parked already. Parked messages
-- become claimable after a day, after all claimed and delayed ones, but nothing depends on that. `skipped`: whether a key was
-- busy; `unparked`: whether messages that the caller did not pass became claimable.
create function choose_keyed_messages(
  p_bucket smallint,
  p_mailbox uuid,
  p_ids uuid[],
  p_keys text[],
  p_now_ms bigint,
  p_expired_before uuid,
  out ids uuid[],
  out skipped boolean,
  out unparked boolean
) language plpgsql as $$
declare
  v_park_ms constant integer := 86400000;
  v_keys text[] := array(select distinct k from unnest(p_keys) as k where k is not null);
  v_locked text[] := try_lock_message_keys(p_mailbox, v_keys);
  v_heads uuid[];
begin
  skipped := cardinality(v_locked) < cardinality(v_keys);
  unparked := false;
  if cardinality(v_locked) > 0 then
    -- Null for a key with a claimed message: no other message of the key may be claimed.
    v_heads := array(
      select (
        select h.id
        from messages h
        where h.bucket = p_bucket
          and h.mailbox_id = p_mailbox
          and h.ordering_key = k.ordering_key
          and (h.id >= p_expired_before) is true
          and not exists (
            select
            from messages c
            where c.bucket = p_bucket
              and c.mailbox_id = p_mailbox
              and c.ordering_key = k.ordering_key
              and c.state = 2
          )
        order by h.position
        limit 1
      )
      from unnest(v_locked) with ordinality as k (ordering_key, number)
      order by k.number
    );

    update messages m
    set state = 4,
      claimable_at = p_now_ms + v_park_ms
    from (
      select behind.id
      from (
        select i.ordering_key, min(p.position) as position
        from unnest(p_ids, p_keys) as i (id, ordering_key)
        join messages p on p.bucket = get_byte(uuid_send(i.id), 15) and p.id = i.id
        where i.ordering_key = any (v_locked)
          and (i.id = any (v_heads)) is not true
        group by i.ordering_key
      ) passed
      cross join lateral (
        select b.id
        from messages b
        where b.bucket = p_bucket
          and b.mailbox_id = p_mailbox
          and b.ordering_key = passed.ordering_key
          and b.position >= passed.position
          and (b.state = 1 or (b.state > 2 and b.claimable_at <= p_now_ms))
        order by b.position
        limit 1 + 1000 / cardinality(v_locked)
        for update skip locked
      ) behind
    ) behind
    where m.bucket = get_byte(uuid_send(behind.id), 15)
      and m.id = behind.id;

    update messages m
    set state = 3,
      claimable_at = p_now_ms
    from unnest(v_heads) as head (id)
    where m.bucket = get_byte(uuid_send(head.id), 15)
      and m.id = head.id
      and m.state + 0 = 4
      and m.claimable_at + 0 > p_now_ms;
    unparked := found;
  end if;

  ids := array(
    select i.id
    from unnest(p_ids, p_keys) with ordinality as i (id, ordering_key, number)
    where i.ordering_key is null
      or i.id = any (v_heads)
    order by i.number
  );
end
$$;
