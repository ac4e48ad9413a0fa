-- Counts the messages that a claim left in a mailbox. p_has_all: whether the claim got all wanted messages; only then ready
-- messages can be left, and those after p_walked_to are counted. p_is_busy: whether the claim skipped messages that other
-- transactions have locked. p_is_unfinished: whether more messages are claimable now than the claim read. The callers set
-- planner options, which this function inherits.
create function left_in_mailbox(
  p_bucket smallint,
  p_mailbox uuid,
  p_walked_to bigint,
  p_has_all boolean,
  p_is_busy boolean,
  p_is_unfinished boolean,
  p_now_ms bigint,
  p_expired_before uuid
)
returns mailbox_rest language plpgsql as $$
declare
  v_max_counted constant integer := 100;
  -- Leases end before; parked messages come after (choose_keyed_messages), and are not read.
  v_max_lease_ms constant integer := 43200000;
begin
  -- One expression, because each expression that PL/pgSQL evaluates in a transaction costs about a microsecond.
  return (
    select row(
      p_mailbox,
      (
        select count(*)
        from (
          (
            select
            from messages m
            where p_has_all
              and m.bucket = p_bucket
              and m.mailbox_id = p_mailbox
              and m.state = 1
              and m.position > p_walked_to
            limit v_max_counted
          )
          union all
          (
            select
            from messages m
            where m.bucket = p_bucket
              and m.mailbox_id = p_mailbox
              and m.state <> 1
              and m.state <> 2
              and m.claimable_at <= p_now_ms
            limit v_max_counted
          )
          limit v_max_counted
        ) ready
      ),
      (
        select count(*)
        from (
          select
          from messages m
          where m.bucket = p_bucket
            and m.mailbox_id = p_mailbox
            and m.state <> 1
            and m.state = 2
            and m.claimable_at > p_now_ms
            and m.claimable_at <= p_now_ms + v_max_lease_ms
          limit v_max_counted
        ) claimed
      ),
      case
        when p_is_unfinished then 0
        when p_has_all then null
        when p_is_busy then 0
        else (
          select greatest(m.claimable_at - p_now_ms, 0)
          from messages m
          where m.bucket = p_bucket
            and m.mailbox_id = p_mailbox
            and m.state <> 1
            and (m.id >= p_expired_before) is true
          order by m.claimable_at
          limit 1
        )
      end,
      case when p_is_busy then 0 else p_walked_to end
    )::mailbox_rest
  );
end
$$;
