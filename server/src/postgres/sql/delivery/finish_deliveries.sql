-- Records a batch of attempts and updates their deliveries: an item that was delivered or has failed for good leaves its row,
-- and an item to be retried gets a row of its own. The lease token is a fencing token: items of a caller that does not hold
-- the lease any more match nothing, and their attempts are not recorded. Returns null when all items matched, otherwise the
-- 1-based numbers of those that did, separated by commas.
--
-- p_row_ids: the rows of deliveries from which the items were taken, with their lease tokens, in ascending order of ids, in
-- which they are locked, so that two calls cannot deadlock. Row r has the items after p_row_ends[r - 1] up to p_row_ends[r],
-- in ascending order of ids. p_row_delivered: for each row, whether all its items in this call were delivered. When several
-- items of one row were all delivered at the first attempt, one row of delivered_groups records their attempts. Outcomes: 1
-- delivered, 2 retry after p_delays_ms, 3 failed. If the target of a retry was deleted meanwhile, the claim that finds the
-- retry cancels it. p_outcomes and p_delays_ms may be null when all items were delivered, p_errors and p_response_bodies when
-- no item has one. p_latencies has the latency range (`latencyRanges.ts`) of each delivered item; the elements of other items
-- are not read. p_header_sets has the set of target headers that each attempt sent, 0 for none; null when no attempt sent
-- any.
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
  -- For each row whose lease token still matches, in the order of p_row_ids: its index there, and the range of its items.
  v_rows integer[];
  v_firsts integer[];
  v_lasts integer[];
  v_kinds smallint[];
  v_attempts smallint[];
  v_org_ids uuid[];
  v_target_ids uuid[];
  -- The row has the id of its item: it is the item's own row, and is kept for the retry.
  v_again boolean[];
  -- The row has no items left and is deleted.
  v_ended boolean[];
  -- The row's attempts are recorded in one row of delivered_groups.
  v_grouped boolean[];
  -- For each item that is in no such group: its number, and the index of its row in v_rows.
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
