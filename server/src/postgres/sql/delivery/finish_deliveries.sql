-- Records a batch of attempts and moves each item on: gone when delivered or failed for good, in a row of its own when
-- it is to be retried. The lease token is a fencing token: a late finisher's items match nothing and leave no attempt.
-- Gives null when all elements matched, and else the 1-based numbers of those that did, with commas between.
--
-- Rows: those of deliveries that the items came in, each with the token of its lease; locked in ascending order of ids,
-- so that two calls cannot deadlock. Row r has the items between p_row_ends[r - 1] and p_row_ends[r], in ascending
-- order of ids. p_row_delivered says of each row whether all its items here were delivered. Items of one row that were
-- all delivered at the first try have one row of delivered_groups for their attempts. Outcomes: 1 delivered, 2 retry
-- after p_delays_ms, 3 failed. A retry whose target was deleted meanwhile is canceled by the claim that meets it.
-- p_outcomes and p_delays_ms may be null where all were delivered, p_errors and p_response_bodies where no element has
-- any. p_latencies has, of each item that was delivered, the range of its latency (`latencyRanges.ts`); others' are not
-- read. p_header_sets has the set of its target's headers that each attempt carried, 0 for none; null where none did.
create function finish_deliveries(
  p_row_ids uuid[],
  p_row_tokens bigint[],
  p_row_ends smallint[],
  p_row_delivered boolean[],
  p_event_ids uuid[],
  p_outcomes smallint[],
  p_delays_ms bigint[],
  p_attempted_at bigint[],
  p_durations_ms integer[],
  p_status_codes smallint[],
  p_errors text[],
  p_response_bodies bytea[],
  p_latencies smallint[],
  p_header_sets integer[]
)
returns text language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  -- For each row that its holder still has, in the order of p_row_ids: its number there, and the range of its items.
  v_rows integer[];
  v_firsts integer[];
  v_lasts integer[];
  v_kinds smallint[];
  v_attempts smallint[];
  v_org_ids uuid[];
  v_target_ids uuid[];
  -- The row has its item's id: it is the item's own, and stays for its retry.
  v_again boolean[];
  -- Nothing of the row is left.
  v_ended boolean[];
  -- The attempts at its items are recorded in one row.
  v_grouped boolean[];
  -- For each other item: its number, and that of its row among those above.
  v_items integer[];
  v_held smallint[];
  v_count integer;
  v_failed record;
begin
  with held as materialized (
    select
      r,
      row_number() over () as k,
      span.first,
      span.last,
      d.kind,
      d.attempts,
      d.org_id,
      d.target_id,
      p_event_ids[span.last] = d.id and coalesce(p_outcomes[span.last] = 2, false) as is_again,
      d.event_ids,
      d.event_ids = p_event_ids[span.first : span.last] as is_whole,
      span.last > span.first
        and p_row_delivered[r]
        and d.attempts = 0
        and (
          d.event_ids = p_event_ids[span.first : span.last]
          or p_event_ids[span.first : span.last] <@ d.event_ids
        ) as is_group
    from generate_series(1, cardinality(p_row_ids)) as r
    cross join lateral (
      select coalesce(p_row_ends[r - 1], 0) + 1 as first, p_row_ends[r]::integer as last
    ) span
    cross join lateral (
      select w.id, w.kind, w.attempts, w.org_id, w.target_id, w.event_ids
      from deliveries w
      where w.bucket = get_byte(uuid_send(p_row_ids[r]), 15)
        and w.id = p_row_ids[r]
        and w.lease_token = p_row_tokens[r]
      for update
    ) d
  )
  select
    array_agg(h.r),
    array_agg(h.first),
    array_agg(h.last),
    array_agg(h.kind),
    array_agg(h.attempts),
    array_agg(h.org_id),
    array_agg(h.target_id),
    array_agg(h.is_again),
    array_agg(not h.is_again and (h.is_whole or h.event_ids <@ p_event_ids[h.first : h.last])),
    array_agg(h.is_group),
    coalesce(sum(h.last - h.first + 1) filter (where h.is_group), 0),
    (
      select array_agg(n)
      from held a
      cross join lateral generate_series(a.first, a.last) as n
      where not a.is_group
        and (a.is_whole or p_event_ids[n] = any (a.event_ids))
    ),
    (
      select array_agg(a.k)
      from held a
      cross join lateral generate_series(a.first, a.last) as n
      where not a.is_group
        and (a.is_whole or p_event_ids[n] = any (a.event_ids))
    )
  into v_rows, v_firsts, v_lasts, v_kinds, v_attempts, v_org_ids, v_target_ids, v_again, v_ended, v_grouped, v_count,
    v_items, v_held
  from held h;
  v_count := v_count + coalesce(cardinality(v_items), 0);
  if v_count = 0 then
    return '';
  end if;

  if true = any (v_ended) then
    delete from deliveries d
    using unnest(v_rows, v_ended) as h (r, is_ended)
    where h.is_ended
      and d.bucket = get_byte(uuid_send(p_row_ids[h.r]), 15)
      and d.id = p_row_ids[h.r];
  end if;
  if false = any (v_ended) then
    update deliveries d
    set event_ids = case
        when h.is_again then d.event_ids
        else array(
          select i.id
          from unnest(d.event_ids) with ordinality as i (id, n)
          where i.id <> all (p_event_ids[h.first : h.last])
          order by i.n
        )
      end,
      attempts = d.attempts + h.is_again::integer,
      schedule_attempts = d.schedule_attempts + h.is_again::integer,
      due_at = case when h.is_again then v_now_ms + p_delays_ms[h.last] else d.due_at end,
      lease_until = case when not h.is_again then d.lease_until end,
      lease_token = case when not h.is_again then d.lease_token end
    from unnest(v_rows, v_firsts, v_lasts, v_again, v_ended) as h (r, first, last, is_again, is_ended)
    where not h.is_ended
      and d.bucket = get_byte(uuid_send(p_row_ids[h.r]), 15)
      and d.id = p_row_ids[h.r];
  end if;

  if true = any (v_grouped) then
    insert into delivered_groups (
      bucket, target_id, org_id, last_id, event_ids, status_codes, durations_ms, attempted_at, response_bodies,
      header_sets
    )
    select
      get_byte(uuid_send(p_row_ids[h.r]), 15),
      h.target_id,
      h.org_id,
      p_event_ids[h.last],
      p_event_ids[h.first : h.last],
      p_status_codes[h.first : h.last],
      p_durations_ms[h.first : h.last],
      p_attempted_at[h.first : h.last],
      p_response_bodies[h.first : h.last],
      p_header_sets[h.first : h.last]
    from unnest(v_rows, v_firsts, v_lasts, v_org_ids, v_target_ids, v_grouped)
      as h (r, first, last, org_id, target_id, is_group)
    where h.is_group;
    insert into target_activity (bucket, delivered, retried, failed, target_id, org_id, at_ms, latencies)
    select
      get_byte(uuid_send(p_row_ids[h.r]), 15), h.last - h.first + 1, 0, 0, h.target_id, h.org_id, v_now_ms,
      p_latencies[h.first : h.last]
    from unnest(v_rows, v_firsts, v_lasts, v_org_ids, v_target_ids, v_grouped)
      as h (r, first, last, org_id, target_id, is_group)
    where h.is_group;
  end if;

  if v_items is not null then
    insert into target_activity (bucket, delivered, retried, failed, target_id, org_id, at_ms, latencies)
    select
      min(get_byte(uuid_send(p_event_ids[m.n]), 15)),
      count(*) filter (where coalesce(p_outcomes[m.n], 1) = 1),
      count(*) filter (where p_outcomes[m.n] = 2),
      count(*) filter (where p_outcomes[m.n] = 3),
      v_target_ids[m.k],
      v_org_ids[m.k],
      v_now_ms,
      array_agg(p_latencies[m.n]) filter (where coalesce(p_outcomes[m.n], 1) = 1)
    from unnest(v_items, v_held) as m (n, k)
    group by v_target_ids[m.k], v_org_ids[m.k];
    insert into attempts (
      bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at, error,
      response_body, header_set
    )
    select
      get_byte(uuid_send(p_event_ids[m.n]), 15),
      v_attempts[m.k] + 1,
      coalesce(p_outcomes[m.n], 1),
      p_status_codes[m.n],
      p_durations_ms[m.n],
      p_event_ids[m.n],
      v_org_ids[m.k],
      v_target_ids[m.k],
      p_attempted_at[m.n],
      p_errors[m.n],
      p_response_bodies[m.n],
      p_header_sets[m.n]
    from unnest(v_items, v_held) as m (n, k);
    if 2 = any (p_outcomes) then
      insert into deliveries (
        bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, event_ids
      )
      select
        get_byte(uuid_send(p_event_ids[m.n]), 15),
        v_kinds[m.k],
        1,
        1,
        p_event_ids[m.n],
        v_target_ids[m.k],
        v_org_ids[m.k],
        v_now_ms + p_delays_ms[m.n],
        array[p_event_ids[m.n]]
      from unnest(v_items, v_held) as m (n, k)
      where p_outcomes[m.n] = 2
        and not v_again[m.k];
    end if;
    if 3 = any (p_outcomes) then
      insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
      select
        get_byte(uuid_send(p_event_ids[m.n]), 15), 'FAILED', p_event_ids[m.n], v_org_ids[m.k], v_target_ids[m.k],
        v_now_ms
      from unnest(v_items, v_held) as m (n, k)
      where p_outcomes[m.n] = 3
      on conflict do nothing;
      if exists (select from notification_targets) then
        for v_failed in
          select s.org_id, s.target_id, array_agg(s.event_id) as ids
          from unnest(v_items) as m (n)
          join settlements s
            on s.bucket = get_byte(uuid_send(p_event_ids[m.n]), 15)
            and s.event_id = p_event_ids[m.n]
          where p_outcomes[m.n] = 3
            and s.status = 'FAILED'
            and s.settled_at = v_now_ms
          group by s.org_id, s.target_id
        loop
          perform note_operational_event('event.failed', v_failed.org_id, v_failed.target_id, v_failed.ids, null);
        end loop;
      end if;
    end if;
  end if;

  if v_count = cardinality(p_event_ids) then
    return null;
  end if;
  return (
    select string_agg(m.n::text, ',')
    from (
      select n
      from unnest(v_items) as n
      union all
      select n
      from unnest(v_firsts, v_lasts, v_grouped) as h (first, last, is_group)
      cross join lateral generate_series(h.first, h.last) as n
      where h.is_group
    ) m
  );
end
$$;
