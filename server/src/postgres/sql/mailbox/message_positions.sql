-- Positions of messages: the order of acceptance in each mailbox. On one PostgreSQL they come from a sequence. Where Citus has placed the
-- cells, each server has a range of the sequence of its own, and they come from the clock; positions.ts replaces this function
-- there. It is constant, so that plans have only the branch that is taken.
create function positions_by_clock()
returns boolean
language sql
immutable
parallel safe
as $$
  select false
$$;

-- A position after which new messages of the mailboxes may come, where positions come from the clock: now in Unix microseconds, and not
-- before the ready messages of each mailbox, nor before any message of an ordering key. Both arrays have an element per new message, and
-- may be null for none. Clocks step back, and differ between servers; usually nothing has a position after now, and nothing is read.
-- Two calls at the same time may give the same.
-- Called from functions that steer the planner, and inherits that.
create function last_position(p_mailboxes uuid[], p_keys text[])
returns bigint language plpgsql as $$
declare
  v_now bigint := extract(epoch from clock_timestamp()) * 1000000;
begin
  return greatest(
    v_now,
    (
      select max(last.position)
      from (
        select distinct i.mailbox_id
        from unnest(p_mailboxes) as i (mailbox_id)
      ) i
      cross join lateral (
        select m.position
        from messages m
        where m.bucket = get_byte(uuid_send(i.mailbox_id), 15)
          and m.mailbox_id = i.mailbox_id
          and m.state = 1
          and m.position >= v_now
        order by m.position desc
        limit 1
      ) last
    ),
    (
      select max(last.position)
      from (
        select distinct i.mailbox_id, i.ordering_key
        from unnest(p_mailboxes, p_keys) as i (mailbox_id, ordering_key)
        where i.ordering_key is not null
      ) i
      cross join lateral (
        select m.position
        from messages m
        where m.bucket = get_byte(uuid_send(i.mailbox_id), 15)
          and m.mailbox_id = i.mailbox_id
          and m.ordering_key = i.ordering_key
          and m.position >= v_now
        order by m.position desc
        limit 1
      ) last
    )
  );
end
$$;

-- After which position a claim may look for ready messages, where positions come from the clock: see the caller's watermark in
-- claim_messages. The clock may have stepped back, or be another server's, since the watermark was reached: new messages are then before
-- it. So nothing of the last three seconds is passed over, which is longer than a watermark is used without a walk from
-- the first message (watermarks.ts).
create function walk_by_clock(p_watermark bigint, p_now_ms bigint)
returns bigint
language sql
immutable
parallel safe
as $$
  select least(p_watermark, (p_now_ms - 3000) * 1000)
$$;
