-- Folds at most p_limit rows of mailbox_activity into mailbox_minutes, and adds their accepted and acknowledged messages to
-- target_activity. Returns the number of folded rows.
create function fold_mailbox_activity(p_limit integer)
returns integer language plpgsql as $$
declare
  v_count integer;
  -- Sums by mailbox and minute.
  v_mailboxes uuid[];
  v_minutes integer[];
  v_accepted integer[];
  v_acknowledged integer[];
  v_held integer[];
  v_orgs uuid[];
begin
  with gone as materialized (
    delete from mailbox_activity a
    where a.ctid = any (array(
      select ctid
      from mailbox_activity
      limit p_limit
      for update skip locked
    ))
    returning a.minute, a.mailbox_id, a.accepted, a.acknowledged, a.held
  )
  select
    coalesce(sum(s.count), 0),
    array_agg(s.mailbox_id),
    array_agg(s.minute),
    array_agg(s.accepted),
    array_agg(s.acknowledged),
    array_agg(s.held)
  into v_count, v_mailboxes, v_minutes, v_accepted, v_acknowledged, v_held
  from (
    select
      g.mailbox_id, g.minute, count(*) as count, sum(g.accepted) as accepted, sum(g.acknowledged) as acknowledged,
      sum(g.held) as held
    from gone g
    group by g.mailbox_id, g.minute
  ) s;

  select array_agg(t.org_id order by s.n)
  into v_orgs
  from unnest(v_mailboxes) with ordinality as s (mailbox_id, n)
  left join targets t on t.id = s.mailbox_id;
  if array_position(v_orgs, null) is not null then
    -- The items of a mailbox that was deleted since name the organization. A separate statement, because it is planned for all
    -- days of `events`.
    v_orgs := array(
      select coalesce(
        s.org_id,
        (
          select e.org_id
          from events e
          where e.bucket = get_byte(uuid_send(s.mailbox_id), 15)
            and e.target_id = s.mailbox_id
          limit 1
        )
      )
      from unnest(v_mailboxes, v_orgs) with ordinality as s (mailbox_id, org_id, n)
      order by s.n
    );
  end if;
  insert into target_activity (bucket, accepted, delivered, target_id, org_id, at_ms)
  select get_byte(uuid_send(s.mailbox_id), 15), s.accepted, s.acknowledged, s.mailbox_id, s.org_id, s.minute::bigint * 60000
  from unnest(v_mailboxes, v_minutes, v_accepted, v_acknowledged, v_orgs)
    as s (mailbox_id, minute, accepted, acknowledged, org_id)
  where (s.accepted > 0 or s.acknowledged > 0)
    -- Null when all items of a deleted mailbox are past retention.
    and s.org_id is not null;
  insert into mailbox_minutes as n (bucket, minute, mailbox_id, accepted, acknowledged, held)
  select get_byte(uuid_send(s.mailbox_id), 15), s.minute, s.mailbox_id, s.accepted, s.acknowledged, s.held
  from unnest(v_mailboxes, v_minutes, v_accepted, v_acknowledged, v_held)
    as s (mailbox_id, minute, accepted, acknowledged, held)
  -- In one order for all processes, so that two cannot deadlock.
  order by get_byte(uuid_send(s.mailbox_id), 15), s.mailbox_id, s.minute
  on conflict (bucket, mailbox_id, minute) do update
  set accepted = n.accepted + excluded.accepted,
    acknowledged = n.acknowledged + excluded.acknowledged,
    held = n.held + excluded.held;
  return v_count;
end
$$;

-- Folds at most p_limit minutes older than p_minutes_kept into the sum of their mailbox (minute 0). Returns the number of
-- folded minutes.
create function fold_mailbox_minutes(p_minutes_kept integer, p_limit integer)
returns integer language plpgsql as $$
declare
  v_before integer := extract(epoch from clock_timestamp()) / 60 - p_minutes_kept;
  v_count integer;
  v_mailboxes uuid[];
  v_held bigint[];
begin
  with gone as materialized (
    delete from mailbox_minutes n
    where (n.bucket, n.mailbox_id, n.minute) in (
      select bucket, mailbox_id, minute
      from mailbox_minutes
      where minute > 0
        and minute < v_before
      limit p_limit
      for update skip locked
    )
    returning n.mailbox_id, n.held
  )
  select coalesce(sum(s.count), 0), array_agg(s.mailbox_id), array_agg(s.held)
  into v_count, v_mailboxes, v_held
  from (
    select g.mailbox_id, count(*) as count, sum(g.held) as held
    from gone g
    group by g.mailbox_id
  ) s;
  insert into mailbox_minutes as n (bucket, minute, mailbox_id, accepted, acknowledged, held)
  select get_byte(uuid_send(s.mailbox_id), 15), 0, s.mailbox_id, 0, 0, s.held
  from unnest(v_mailboxes, v_held) as s (mailbox_id, held)
  where exists (select from targets t where t.id = s.mailbox_id)
  order by get_byte(uuid_send(s.mailbox_id), 15), s.mailbox_id
  on conflict (bucket, mailbox_id, minute) do update
  set held = n.held + excluded.held;
  return v_count;
end
$$;
