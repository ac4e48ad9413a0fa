-- Folds rows of target_activity and published_activity, at most so many of each, into steps of these seconds. Gives how many
-- they were, each target's by itself, and whether there may be more. The caller holds the lock of folding.
create function fold_activity(
  p_limit integer,
  p_steps integer[],
  p_published_limit integer,
  out folded integer,
  out is_more boolean
) language plpgsql as $$
declare
  -- The rows, one for each target.
  v_targets uuid[];
  v_orgs uuid[];
  v_at bigint[];
  v_accepted integer[];
  v_delivered integer[];
  v_retried integer[];
  v_failed integer[];
  -- Latencies of their deliveries, each with the number of its row.
  v_latency_rows integer[];
  v_latencies smallint[];
  v_published record;
begin
  with single as materialized (
    delete from target_activity a
    where a.ctid = any (array(select ctid from target_activity limit p_limit))
    returning a.target_id, a.org_id, a.at_ms, a.accepted, a.delivered, a.retried, a.failed, a.latencies
  ),
  numbered as materialized (
    select s.*, row_number() over () as n
    from single s
  )
  select
    array_agg(s.target_id order by s.n),
    array_agg(s.org_id order by s.n),
    array_agg(s.at_ms order by s.n),
    array_agg(s.accepted order by s.n),
    array_agg(s.delivered order by s.n),
    array_agg(s.retried order by s.n),
    array_agg(s.failed order by s.n),
    (select array_agg(l.n) from numbered l cross join unnest(l.latencies)),
    (select array_agg(r) from numbered l cross join unnest(l.latencies) as r)
  into v_targets, v_orgs, v_at, v_accepted, v_delivered, v_retried, v_failed, v_latency_rows, v_latencies
  from numbered s;
  is_more := coalesce(cardinality(v_targets), 0) = p_limit;

  with published as materialized (
    delete from published_activity a
    where a.ctid = any (array(select ctid from published_activity limit p_published_limit))
    returning a.org_id, a.at_ms, a.target_ids, a.accepted
  )
  select
    (select count(*) from published) as count,
    array_agg(t.target_id) as targets,
    array_agg(p.org_id) as orgs,
    array_agg(p.at_ms) as at,
    array_agg(t.accepted::integer) as accepted
  into v_published
  from published p
  cross join unnest(p.target_ids, p.accepted) as t (target_id, accepted);
  if v_published.count > 0 then
    v_targets := v_targets || v_published.targets;
    v_orgs := v_orgs || v_published.orgs;
    v_at := v_at || v_published.at;
    v_accepted := v_accepted || v_published.accepted;
    v_delivered := v_delivered || array_fill(0, array[cardinality(v_published.targets)]);
    v_retried := v_retried || array_fill(0, array[cardinality(v_published.targets)]);
    v_failed := v_failed || array_fill(0, array[cardinality(v_published.targets)]);
    is_more := is_more or v_published.count = p_published_limit;
  end if;
  folded := coalesce(cardinality(v_targets), 0);
  if folded = 0 then
    return;
  end if;

  with minutes as (
    select
      m.target_id,
      m.org_id,
      m.at_ms / 60000 * 60 as minute,
      sum(m.accepted) as accepted,
      sum(m.delivered) as delivered,
      sum(m.retried) as retried,
      sum(m.failed) as failed,
      max(m.at_ms) filter (where m.delivered + m.retried + m.failed > 0) as last_attempt_at,
      max(m.at_ms) filter (where m.delivered > 0) as last_success_at
    from unnest(v_targets, v_orgs, v_at, v_accepted, v_delivered, v_retried, v_failed)
      as m (target_id, org_id, at_ms, accepted, delivered, retried, failed)
    group by m.target_id, m.org_id, m.at_ms / 60000
  ),
  latencies as (
    select
      v_targets[l.n] as target_id, v_orgs[l.n] as org_id, v_at[l.n] / 60000 * 60 as minute, l.range,
      count(*) as count
    from unnest(v_latency_rows, v_latencies) as l (n, range)
    group by v_targets[l.n], v_orgs[l.n], v_at[l.n] / 60000, l.range
  ),
  steps as (
    select
      scope.id as scope_id,
      m.org_id,
      step.seconds as step,
      m.minute / step.seconds * step.seconds as at,
      sum(m.accepted) as accepted,
      sum(m.delivered) as delivered,
      sum(m.retried) as retried,
      sum(m.failed) as failed,
      max(m.last_attempt_at) as last_attempt_at,
      max(m.last_success_at) as last_success_at
    from minutes m
    cross join lateral (values (m.target_id), (m.org_id)) as scope (id)
    cross join unnest(p_steps) as step (seconds)
    group by 1, 2, 3, 4
  ),
  histograms as (
    select
      c.scope_id,
      c.step,
      c.at,
      array_agg(c.range order by c.range) as ranges,
      array_agg(c.count order by c.range) as counts
    from (
      select
        scope.id as scope_id,
        step.seconds as step,
        l.minute / step.seconds * step.seconds as at,
        l.range,
        sum(l.count)::bigint as count
      from latencies l
      cross join lateral (values (l.target_id), (l.org_id)) as scope (id)
      cross join unnest(p_steps) as step (seconds)
      group by 1, 2, 3, 4
    ) c
    group by c.scope_id, c.step, c.at
  )
  insert into activity_steps as a (
    scope_id, org_id, step, at, accepted, delivered, retried, failed, last_attempt_at, last_success_at,
    latency_ranges, latency_counts, p50_range, p95_range, p99_range, measured
  )
  select
    s.scope_id, s.org_id, s.step, s.at, s.accepted, s.delivered, s.retried, s.failed, s.last_attempt_at, s.last_success_at,
    coalesce(h.ranges, '{}'), coalesce(h.counts, '{}'), p.p50, p.p95, p.p99, p.measured
  from steps s
  left join histograms h on h.scope_id = s.scope_id and h.step = s.step and h.at = s.at
  cross join lateral latency_percentiles(h.ranges, h.counts) p
  order by s.scope_id, s.step, s.at
  on conflict (scope_id, step, at) do update
  set accepted = a.accepted + excluded.accepted,
    delivered = a.delivered + excluded.delivered,
    retried = a.retried + excluded.retried,
    failed = a.failed + excluded.failed,
    last_attempt_at = greatest(a.last_attempt_at, excluded.last_attempt_at),
    last_success_at = greatest(a.last_success_at, excluded.last_success_at),
    (latency_ranges, latency_counts, p50_range, p95_range, p99_range, measured) = (
      select m.ranges, m.counts, p.p50, p.p95, p.p99, p.measured
      from (
        select
          coalesce(array_agg(r.range order by r.range), '{}') as ranges,
          coalesce(array_agg(r.count order by r.range), '{}') as counts
        from (
          select l.range, sum(l.count)::bigint as count
          from (
            select unnest(a.latency_ranges) as range, unnest(a.latency_counts) as count
            union all
            select unnest(excluded.latency_ranges), unnest(excluded.latency_counts)
          ) l
          group by l.range
        ) r
      ) m
      cross join lateral latency_percentiles(m.ranges, m.counts) p
    );
end
$$;
