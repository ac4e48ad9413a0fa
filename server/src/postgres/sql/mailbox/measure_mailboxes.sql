-- The messages of all mailboxes, for metrics. The total is read from the ledger and not counted. Reads at most 100,000 claimed or
-- returned messages, at most 100,000 dead ones, and the oldest message of each bucket.
create function measure_mailboxes(
  p_retention_ms bigint,
  out unread bigint,
  out claimed bigint,
  out dead bigint,
  out oldest_seconds double precision
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_oldest uuid;
begin
  select count(*) filter (where m.state = 2 and m.claimable_at > v_now_ms)
  into claimed
  from (
    select w.state, w.claimable_at
    from messages w
    where w.state <> 1
    limit 100000
  ) m;

  select greatest(0, coalesce(sum(l.held), 0) - claimed)
  into unread
  from (
    select a.mailbox_id, a.held
    from mailbox_activity a
    union all
    select n.mailbox_id, n.held
    from mailbox_minutes n
  ) l
  join targets t on t.id = l.mailbox_id;

  select count(*)
  into dead
  from (
    select
    from closed_messages c
    where c.dead
      and c.id >= v_expired_before
    limit 100000
  ) c;

  select min(first.id::text collate "C")::uuid
  into v_oldest
  from generate_series(0, 255) as b
  cross join lateral (
    select m.id
    from messages m
    where m.bucket = b
      and m.id >= v_expired_before
    order by m.id
    limit 1
  ) first;
  oldest_seconds := coalesce(
    greatest(0, v_now_ms - ('x' || substr(v_oldest::text, 1, 8) || substr(v_oldest::text, 10, 4))::bit(48)::bigint)
      / 1000.0,
    0
  );
end
$$;
