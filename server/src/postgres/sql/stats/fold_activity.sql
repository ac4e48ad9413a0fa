-- Folds at most p_limit rows of target_activity and p_published_limit rows of published_activity into steps of p_steps
-- seconds. folded: the number of folded rows, where a row of published_activity counts once for each of its targets. is_more:
-- whether more rows may be left. The caller holds the folding lock.
create function fold_activity(
  p_limit integer,
  p_steps integer[],
  p_published_limit integer,
  out folded integer,
  out is_more boolean
) language plpgsql as $$
declare
  -- Sums by target and minute; minutes are Unix seconds.
  v_targets uuid[];
  v_orgs uuid[];
  v_minutes bigint[];
  v_accepted bigint[];
  v_delivered bigint[];
  v_retried bigint[];
  v_failed bigint[];
  v_last_attempts bigint[];
  v_last_successes bigint[];
  -- Counts of deliveries by target, minute and latency range.
  v_latency_targets uuid[];
  v_latency_orgs uuid[];
  v_latency_minutes bigint[];
  v_latencies smallint[];
  v_latency_counts bigint[];
  v_published record;
begin
  with single as materialized (
    delete from target_activity a
    where a.ctid = any (array(select ctid from target_activity limit p_limit))
    returning a.target_id, a.org_id, a.at_ms, a.accepted, a.delivered, a.retried, a.failed, a.latencies
  )
  select m.*, l.*, (select count(*) from single)
  into v_targets, v_orgs, v_minutes, v_accepted, v_delivered, v_retried, v_failed, v_last_attempts, v_last_successes,
    v_latency_targets, v_latency_orgs, v_latency_minutes, v_latencies, v_latency_counts, folded
  from (
    select
      array_agg(g.target_id), array_agg(g.org_id), array_agg(g.minute), array_agg(g.accepted), array_agg(g.delivered),
      array_agg(g.retried), array_agg(g.failed), array_agg(g.last_attempt_at), array_agg(g.last_success_at)
    from (
      select
        s.target_id,
        s.org_id,
        s.at_ms / 60000 * 60 as minute,
        sum(s.accepted) as accepted,
        sum(s.delivered) as delivered,
        sum(s.retried) as retried,
        sum(s.failed) as failed,
        max(s.at_ms) filter (where s.delivered + s.retried + s.failed > 0) as last_attempt_at,
        max(s.at_ms) filter (where s.delivered > 0) as last_success_at
      from single s
      group by s.target_id, s.org_id, s.at_ms / 60000
    ) g
  ) m
  cross join (
    select
      array_agg(g.target_id), array_agg(g.org_id), array_agg(g.minute), array_agg(g.range), array_agg(g.count)
    from (
      select s.target_id, s.org_id, s.at_ms / 60000 * 60 as minute, range, count(*) as count
      from single s
      cross join unnest(s.latencies) as range
      group by s.target_id, s.org_id, s.at_ms / 60000, range
    ) g
  ) l;
  is_more := folded = p_limit;

  with published as materialized (
    delete from published_activity a
    where a.ctid = any (array(select ctid from published_activity limit p_published_limit))
    returning a.org_id, a.at_ms, a.target_ids, a.accepted
  )
  select
    (select count(*) from published) as count,
    array_agg(t.target_id) as targets,
    array_agg(p.org_id) as orgs,
    array_agg(p.at_ms / 60000 * 60) as minutes,
    array_agg(t.accepted::bigint) as accepted
  into v_published
  from published p
  cross join unnest(p.target_ids, p.accepted) as t (target_id, accepted);
  if v_published.count > 0 then
    v_accepted := v_accepted || v_published.accepted;
    v_targets := v_targets || v_published.targets;
    v_orgs := v_orgs || v_published.orgs;
    v_minutes := v_minutes || v_published.minutes;
    folded := folded + cardinality(v_published.targets);
    is_more := is_more or v_published.count = p_published_limit;
  end if;
  if folded = 0 then
    return;
  end if;

  with steps as (
    select
      scope.id as scope_id,
      m.org_id,
      step.seconds as step,
      m.minute / step.seconds * step.seconds as at,
      sum(m.accepted) as accepted,
      -- Rows of publications count accepted items only.
      coalesce(sum(m.delivered), 0) as delivered,
      coalesce(sum(m.retried), 0) as retried,
      coalesce(sum(m.failed), 0) as failed,
      max(m.last_attempt_at) as last_attempt_at,
      max(m.last_success_at) as last_success_at
    from unnest(
      v_targets, v_orgs, v_minutes, v_accepted, v_delivered, v_retried, v_failed, v_last_attempts, v_last_successes
    ) as m (target_id, org_id, minute, accepted, delivered, retried, failed, last_attempt_at, last_success_at)
    cross join lateral (values (m.target_id), (m.org_id)) as scope (id)
    cross join unnest(p_steps) as step (seconds)
    group by 1, 2, 3, 4
  ),
  -- The counts that the steps already have. No other process changes them, because the caller holds the lock.
  stored as (
    select s.scope_id, s.step, s.at, a.latency_ranges, a.latency_counts
    from steps s
    cross join lateral (
      select k.latency_ranges, k.latency_counts
      from activity_steps k
      where k.scope_id = s.scope_id
        and k.step = s.step
        and k.at = s.at
      offset 0
    ) a
  ),
  counts as (
    select c.scope_id, c.step, c.at, c.range, sum(c.count)::bigint as count
    from (
      select scope.id as scope_id, step.seconds as step, l.minute / step.seconds * step.seconds as at, l.range, l.count
      from unnest(v_latency_targets, v_latency_orgs, v_latency_minutes, v_latencies, v_latency_counts)
        as l (target_id, org_id, minute, range, count)
      cross join lateral (values (l.target_id), (l.org_id)) as scope (id)
      cross join unnest(p_steps) as step (seconds)
      union all
      select s.scope_id, s.step, s.at, unnest(s.latency_ranges), unnest(s.latency_counts)
      from stored s
    ) c
    group by c.scope_id, c.step, c.at, c.range
  ),
  -- Adds running counts, from which the percentiles are computed as in latencyRanges.ts.
  running as (
    select
      c.*,
      sum(c.count) over (of_step order by c.range rows unbounded preceding) as until,
      sum(c.count) over of_step as measured
    from counts c
    window of_step as (partition by c.scope_id, c.step, c.at)
  ),
  histograms as (
    select
      r.scope_id,
      r.step,
      r.at,
      array_agg(r.range order by r.range) as ranges,
      array_agg(r.count order by r.range) as counts,
      min(r.range) filter (where r.until >= r.measured * 0.5) as p50,
      min(r.range) filter (where r.until >= r.measured * 0.95) as p95,
      min(r.range) filter (where r.until >= r.measured * 0.99) as p99,
      max(r.measured) as measured
    from running r
    group by r.scope_id, r.step, r.at
  )
  insert into activity_steps as a (
    scope_id, org_id, step, at, accepted, delivered, retried, failed, last_attempt_at, last_success_at,
    latency_ranges, latency_counts, p50_range, p95_range, p99_range, measured
  )
  select
    s.scope_id, s.org_id, s.step, s.at, s.accepted, s.delivered, s.retried, s.failed, s.last_attempt_at, s.last_success_at,
    coalesce(h.ranges, '{}'), coalesce(h.counts, '{}'), h.p50, h.p95, h.p99, coalesce(h.measured, 0)
  from steps s
  left join histograms h on h.scope_id = s.scope_id and h.step = s.step and h.at = s.at
  order by s.scope_id, s.step, s.at
  on conflict (scope_id, step, at) do update
  set accepted = a.accepted + excluded.accepted,
    delivered = a.delivered + excluded.delivered,
    retried = a.retried + excluded.retried,
    failed = a.failed + excluded.failed,
    last_attempt_at = greatest(a.last_attempt_at, excluded.last_attempt_at),
    last_success_at = greatest(a.last_success_at, excluded.last_success_at),
    latency_ranges = excluded.latency_ranges,
    latency_counts = excluded.latency_counts,
    p50_range = excluded.p50_range,
    p95_range = excluded.p95_range,
    p99_range = excluded.p99_range,
    measured = excluded.measured;
end
$$;
