-- Counts outcomes of events that replay jobs created, and schedules the next poll of events that have not ended. The
-- transaction that counts an event also removes it from the list. p_in_ms: milliseconds until the next poll; null for an
-- event that has ended. Returns how many have ended. Events that another process has locked are left to that process.
create function settle_replayed(
  p_replay_ids uuid[],
  p_event_ids uuid[],
  p_delivered boolean[],
  p_in_ms integer[]
)
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  -- Columns of the entries that this call has locked.
  v_replay_ids uuid[];
  v_event_ids uuid[];
  v_delivered boolean[];
  v_in_ms integer[];
  v_sum record;
  v_ended integer := 0;
begin
  select array_agg(h.replay_id), array_agg(h.event_id), array_agg(h.is_delivered), array_agg(h.in_ms)
  into v_replay_ids, v_event_ids, v_delivered, v_in_ms
  from (
    select p.replay_id, p.event_id, l.is_delivered, l.in_ms
    from unnest(p_replay_ids, p_event_ids, p_delivered, p_in_ms) as l (replay_id, event_id, is_delivered, in_ms)
    join replay_pending p on p.replay_id = l.replay_id and p.event_id = l.event_id
    for update of p skip locked
  ) h;
  if v_event_ids is null then
    return 0;
  end if;

  delete from replay_pending p
  using unnest(v_replay_ids, v_event_ids, v_in_ms) as h (replay_id, event_id, in_ms)
  where p.replay_id = h.replay_id
    and p.event_id = h.event_id
    and h.in_ms is null;
  update replay_pending p
  set due_at = v_now_ms + h.in_ms
  from unnest(v_replay_ids, v_event_ids, v_in_ms) as h (replay_id, event_id, in_ms)
  where p.replay_id = h.replay_id
    and p.event_id = h.event_id
    and h.in_ms is not null;

  -- In ascending order of ids, so that two processes cannot deadlock.
  for v_sum in
    select
      h.replay_id,
      count(*) filter (where h.is_delivered) as delivered,
      count(*) filter (where not h.is_delivered) as failed
    from unnest(v_replay_ids, v_delivered, v_in_ms) as h (replay_id, is_delivered, in_ms)
    where h.in_ms is null
    group by h.replay_id
    order by h.replay_id
  loop
    update replays r
    set delivered = r.delivered + v_sum.delivered,
      failed = r.failed + v_sum.failed
    where r.id = v_sum.replay_id;
    v_ended := v_ended + v_sum.delivered + v_sum.failed;
  end loop;
  return v_ended;
end
$$;
