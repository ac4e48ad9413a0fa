import type pg from "pg";

/** The activity of a target in an hour; `at` is its beginning in Unix seconds. */
export interface Hour {
  at: number;
  delivered: number;
  retried: number;
  failed: number;
}

const hourSeconds = 3_600;
const hoursShown = 24;

/**
 * The last 24 hours of some targets of an organization, by target; hours in which nothing was attempted are left out. One
 * statement: the steps of an hour, and what is not folded into them yet.
 */
export async function readHours(
  pool: pg.Pool,
  orgId: string,
  ids: readonly string[],
): Promise<Map<string, Hour[]>> {
  const { rows } = await pool.query<Hour & { id: string }>({
    name: "hours_of_targets",
    text: `select h.id, h.at, sum(h.delivered)::bigint as delivered, sum(h.retried)::bigint as retried,
             sum(h.failed)::bigint as failed
           from (select (extract(epoch from statement_timestamp())::bigint / $3::integer - $4::integer + 1) * $3 as at) since
           cross join lateral (
             select s.scope_id as id, s.at, s.delivered, s.retried, s.failed
             from unnest($2::uuid[]) as i (id)
             join activity_steps s on s.scope_id = i.id and s.step = $3 and s.at >= since.at
             where s.org_id = $1
             union all
             select a.target_id, a.at_ms / 1000 / $3 * $3, a.delivered, a.retried, a.failed
             from target_activity a
             where a.org_id = $1
               and a.target_id = any ($2::uuid[])
               and a.at_ms >= since.at * 1000
           ) h
           group by h.id, h.at
           having sum(h.delivered + h.retried + h.failed) > 0
           order by h.id, h.at`,
    values: [orgId, ids, hourSeconds, hoursShown],
  });
  const byTarget = new Map<string, Hour[]>();
  for (const { id, ...hour } of rows) {
    const hours = byTarget.get(id);
    if (hours === undefined) byTarget.set(id, [hour]);
    else hours.push(hour);
  }
  return byTarget;
}
