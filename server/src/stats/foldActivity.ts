import type pg from "pg";
import { lockOfCell } from "../postgres/cells.ts";
import { inTransaction } from "../postgres/pool.ts";
import { stepsKept } from "./steps.ts";

const advisoryLockKey = 7_281_934_012;
const rowsPerStatement = 20_000;
/** Each is of up to 64 targets. */
const publishedRowsPerStatement = 300;

/**
 * Folds what was written with the work into steps of time. What happened is in the rows or in the steps at any moment, whatever
 * crashes. One process at a time; the others return at once. @returns how many rows were folded.
 */
export async function foldActivity(pool: pg.Pool, cellNumber: number = 0): Promise<number> {
  let total = 0;
  for (;;) {
    const folded = await inTransaction(pool, async (client) => {
      const lock = await client.query<{ taken: boolean }>("select pg_try_advisory_xact_lock($1) as taken", [
        lockOfCell(advisoryLockKey, cellNumber),
      ]);
      if (lock.rows[0]?.taken !== true) return undefined;
      const { rows } = await client.query<{ folded: number; is_more: boolean }>({
        name: "fold_activity",
        text: foldText,
        values: [rowsPerStatement, stepsKept.map(({ seconds }) => seconds), publishedRowsPerStatement],
      });
      return rows[0]!;
    });
    total += folded?.folded ?? 0;
    if (folded?.is_more !== true) return total;
  }
}

/** Forgets steps past their retention, which is longer the coarser they are. @returns how many were forgotten. */
export async function forgetActivity(pool: pg.Pool): Promise<number> {
  let total = 0;
  for (const { seconds, keptSeconds } of stepsKept) {
    for (;;) {
      const { rowCount } = await pool.query({
        name: "forget_activity",
        text: `delete from activity_steps a
               where a.ctid = any (array(
                 select ctid
                 from activity_steps
                 where step = $1
                   and at < extract(epoch from clock_timestamp())::bigint - $2
                 order by at
                 limit $3
               ))`,
        values: [seconds, keptSeconds, rowsPerStatement],
      });
      total += rowCount ?? 0;
      if ((rowCount ?? 0) < rowsPerStatement) break;
    }
  }
  return total;
}

const foldText = `
  with single as materialized (
    delete from target_activity a
    where a.ctid = any (array(select ctid from target_activity limit $1))
    returning
      a.target_id, a.org_id, a.at_ms / 60000 * 60 as minute, a.at_ms, a.accepted, a.delivered, a.retried, a.failed,
      a.latencies
  ),
  published as materialized (
    delete from published_activity a
    where a.ctid = any (array(select ctid from published_activity limit $3))
    returning a.org_id, a.at_ms, a.target_ids, a.accepted
  ),
  moved as materialized (
    select s.* from single s
    union all
    select t.target_id, p.org_id, p.at_ms / 60000 * 60, p.at_ms, t.accepted, 0, 0, 0, null
    from published p
    cross join unnest(p.target_ids, p.accepted) as t (target_id, accepted)
  ),
  minutes as (
    select
      m.target_id,
      m.org_id,
      m.minute,
      sum(m.accepted) as accepted,
      sum(m.delivered) as delivered,
      sum(m.retried) as retried,
      sum(m.failed) as failed,
      max(m.at_ms) filter (where m.delivered + m.retried + m.failed > 0) as last_attempt_at,
      max(m.at_ms) filter (where m.delivered > 0) as last_success_at
    from moved m
    group by m.target_id, m.org_id, m.minute
  ),
  latencies as (
    select m.target_id, m.org_id, m.minute, l.range, count(*) as count
    from moved m
    cross join unnest(m.latencies) as l (range)
    group by m.target_id, m.org_id, m.minute, l.range
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
    cross join unnest($2::integer[]) as step (seconds)
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
      cross join unnest($2::integer[]) as step (seconds)
      group by 1, 2, 3, 4
    ) c
    group by c.scope_id, c.step, c.at
  ),
  added as (
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
      )
  )
  select
    (select count(*) from moved) as folded,
    (select count(*) from single) = $1::integer or (select count(*) from published) = $3::integer as is_more`;
