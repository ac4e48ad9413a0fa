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
  v_matched text;
begin
  with held as materialized (
    select
      span.first,
      span.last,
      d.bucket,
      d.kind,
      d.id,
      d.org_id,
      d.target_id,
      d.attempts,
      -- A row that has its item's id is the item's own, and stays for its retry.
      p_event_ids[span.last] = d.id and coalesce(p_outcomes[span.last] = 2, false) as is_again,
      d.event_ids,
      d.event_ids = p_event_ids[span.first : span.last] as is_whole,
      -- Its attempts are recorded in one row.
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
      select w.bucket, w.kind, w.id, w.org_id, w.target_id, w.attempts, w.event_ids
      from deliveries w
      where w.bucket = get_byte(uuid_send(p_row_ids[r]), 15)
        and w.id = p_row_ids[r]
        and w.lease_token = p_row_tokens[r]
      for update
    ) d
  ),
  ended as (
    delete from deliveries d
    using held h
    where d.bucket = h.bucket
      and d.id = h.id
      and not h.is_again
      and (h.is_whole or h.event_ids <@ p_event_ids[h.first : h.last])
  ),
  changed as (
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
    from held h
    where d.bucket = h.bucket
      and d.id = h.id
      and (h.is_again or not (h.is_whole or h.event_ids <@ p_event_ids[h.first : h.last]))
  ),
  moved as (
    select n, h.bucket, h.kind, h.org_id, h.target_id, h.attempts, h.is_again
    from held h
    cross join lateral generate_series(h.first, h.last) as n
    where not h.is_group
      and (h.is_whole or p_event_ids[n] = any (h.event_ids))
  ),
  grouped as (
    insert into delivered_groups (
      bucket, target_id, org_id, last_id, event_ids, status_codes, durations_ms, attempted_at, response_bodies,
      header_sets
    )
    select
      h.bucket,
      h.target_id,
      h.org_id,
      p_event_ids[h.last],
      p_event_ids[h.first : h.last],
      p_status_codes[h.first : h.last],
      p_durations_ms[h.first : h.last],
      p_attempted_at[h.first : h.last],
      p_response_bodies[h.first : h.last],
      p_header_sets[h.first : h.last]
    from held h
    where h.is_group
  ),
  activity as (
    insert into target_activity (bucket, delivered, retried, failed, target_id, org_id, at_ms, latencies)
    select h.bucket, h.last - h.first + 1, 0, 0, h.target_id, h.org_id, v_now_ms, p_latencies[h.first : h.last]
    from held h
    where h.is_group
    union all
    select
      m.bucket,
      count(*) filter (where coalesce(p_outcomes[m.n], 1) = 1),
      count(*) filter (where p_outcomes[m.n] = 2),
      count(*) filter (where p_outcomes[m.n] = 3),
      m.target_id,
      m.org_id,
      v_now_ms,
      array_agg(p_latencies[m.n]) filter (where coalesce(p_outcomes[m.n], 1) = 1)
    from moved m
    group by m.bucket, m.target_id, m.org_id
  ),
  recorded as (
    insert into attempts (
      bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at, error,
      response_body, header_set
    )
    select
      m.bucket,
      m.attempts + 1,
      coalesce(p_outcomes[m.n], 1),
      p_status_codes[m.n],
      p_durations_ms[m.n],
      p_event_ids[m.n],
      m.org_id,
      m.target_id,
      p_attempted_at[m.n],
      p_errors[m.n],
      p_response_bodies[m.n],
      p_header_sets[m.n]
    from moved m
  ),
  parted as (
    insert into deliveries (
      bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, event_ids
    )
    select
      m.bucket,
      m.kind,
      1,
      1,
      p_event_ids[m.n],
      m.target_id,
      m.org_id,
      v_now_ms + p_delays_ms[m.n],
      array[p_event_ids[m.n]]
    from moved m
    where p_outcomes[m.n] = 2
      and not m.is_again
  ),
  failed as (
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    select m.bucket, 'FAILED', p_event_ids[m.n], m.org_id, m.target_id, v_now_ms
    from moved m
    where p_outcomes[m.n] = 3
    on conflict do nothing
  )
  select
    case when matched.items < cardinality(p_event_ids) then
      (
        select coalesce(string_agg(n.n::text, ','), '')
        from (
          select m.n
          from moved m
          union all
          select n
          from held h
          cross join lateral generate_series(h.first, h.last) as n
          where h.is_group
        ) n
      )
    end
  into v_matched
  from (
    select
      (select count(*) from moved)
      + (select coalesce(sum(h.last - h.first + 1), 0) from held h where h.is_group) as items
  ) matched;

  -- Apart from the statement above, so that batches in which nothing fails for good pay nothing for it.
  if 3 = any (p_outcomes) and exists (select from notification_targets) then
    perform note_operational_event('event.failed', f.org_id, f.target_id, array_agg(f.event_id), null)
    from (
      select s.org_id, s.target_id, s.event_id
      from unnest(p_event_ids, p_outcomes) with ordinality as i (id, outcome, n)
      join settlements s on s.bucket = get_byte(uuid_send(i.id), 15) and s.event_id = i.id
      where i.outcome = 3
        and s.status = 'FAILED'
        and s.settled_at = v_now_ms
        and (v_matched is null or i.n::text = any (string_to_array(v_matched, ',')))
    ) f
    group by f.org_id, f.target_id;
  end if;
  return v_matched;
end
$$;
