-- Positions of messages: the order of acceptance in each mailbox. On one PostgreSQL they come from a sequence. Where Citus
-- has placed the cells, each server has its own range of the sequence, so positions come from the clock; installFunctions.ts
-- replaces this function there. The function is constant, so that plans have only the branch that is taken.
create function positions_by_clock()
returns boolean
language sql
immutable
parallel safe
as $$
  select false
$$;

-- The position after which new messages are placed where positions come from the clock: now in Unix microseconds, or a later
-- position of a ready message of the mailboxes or of any message of the ordering keys. Both arrays have an element for each
-- new message, and may be null when there is none. Clocks may step back, and differ between servers; usually no message has a
-- position after now, and no row is read. Two concurrent calls may return the same position. The callers set planner options,
-- which this function inherits.
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

-- The position after which a claim scans for ready messages where positions come from the clock: the caller's watermark (see
-- claim_messages), but not later than three seconds ago. After the watermark was reached, the clock may have stepped back, or
-- another server's clock may have been used: new messages then have positions before it. Three seconds are longer than a
-- watermark is used without a scan from the first message (watermarks.ts).
create function walk_by_clock(p_watermark bigint, p_now_ms bigint)
returns bigint
language sql
immutable
parallel safe
as $$
  select least(p_watermark, (p_now_ms - 3000) * 1000)
$$;
