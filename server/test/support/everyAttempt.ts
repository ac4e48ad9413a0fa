/** SQL of a subquery with every recorded attempt, alone or grouped, with the columns of `attempts`. */
export const everyAttempt = `(
  select event_id, target_id, org_id, number, outcome, status_code, duration_ms, attempted_at, error, response_body
  from attempts
  union all
  select i.event_id, g.target_id, g.org_id, 1, 1, i.status_code, i.duration_ms, i.attempted_at, null, i.response_body
  from delivered_groups g
  cross join unnest(g.event_ids, g.status_codes, g.durations_ms, g.attempted_at, g.response_bodies)
    as i (event_id, status_code, duration_ms, attempted_at, response_body)
) as attempt`;
