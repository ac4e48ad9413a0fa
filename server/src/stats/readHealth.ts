import type { Static } from "typebox";
import type pg from "pg";
import { circuitMemoryMs } from "../delivery/rows/openCircuits.ts";
import type { ListedHealth, TargetHealth } from "./schemas.ts";

/** The current health of a target; times in Unix seconds. */
type Health = Static<typeof TargetHealth>;

type HealthRow = Pick<
  Health,
  | "target_id"
  | "kind"
  | "enabled"
  | "disabled_reason"
  | "failing_since"
  | "last_attempt_at"
  | "last_success_at"
> &
  Record<
    "now_ms" | "in_flight" | "due" | "due_rows" | "held" | "held_rows" | "delivered" | "attempted",
    number
  > &
  Record<"open_until" | "oldest_due", number | null>;

/** Maximum number of rows counted as due or held; each row has up to 64 items. */
const maxCountedRows = 2_500;

/** The targets to read: of an organization, or only of one customer if the caller is limited to it. */
export interface HealthScope {
  orgId: string;
  ids: readonly string[];
  customerUid?: string | undefined;
}

/**
 * Reads the health of targets over all nodes, in the order of their ids; targets outside of the scope are left out. Uses one
 * statement. The cost per target is that of the leased rows in its bucket and of at most {@link maxCountedRows} due rows.
 */
export async function readHealths(
  pool: pg.Pool,
  { orgId, ids, customerUid }: HealthScope,
): Promise<Health[]> {
  const { rows } = await pool.query<HealthRow>({
    name: "target_health",
    text: healthText,
    values: [ids, orgId, customerUid ?? null, maxCountedRows, circuitMemoryMs],
  });
  return rows.map(healthOf);
}

function healthOf(row: HealthRow): Health {
  const { now_ms: nowMs, open_until: openUntil, oldest_due: oldestDue, due_rows, held_rows, ...health } = row;
  const { delivered, attempted, ...shown } = health;
  return {
    ...shown,
    circuit: openUntil === null ? "closed" : openUntil > nowMs ? "open" : "half_open",
    due_is_exact: Math.max(due_rows, held_rows) < maxCountedRows,
    oldest_due_at: seconds(oldestDue),
    oldest_due_seconds: oldestDue === null ? null : Math.floor((nowMs - oldestDue) / 1000),
    success_rate_24h: attempted === 0 ? null : delivered / attempted,
    last_attempt_at: seconds(row.last_attempt_at),
    last_success_at: seconds(row.last_success_at),
  };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}

/** SQL: deliveries without a lease that are due by `until`, in the order of the index `deliveries_due`. */
function waiting(until: string): string {
  return `
    select cardinality(d.event_ids) as items, d.due_at
    from deliveries d
    where d.bucket = b.bucket
      and d.target_id = t.id
      and d.lease_until is null
      and d.due_at <= ${until}
    order by d.due_at
    limit $4`;
}

/** SQL: the value of the latest day that has one, without reading three years of days. */
function latestOf(column: "last_attempt_at" | "last_success_at"): string {
  return `
    select s.${column}
    from activity_steps s
    where s.scope_id = t.id
      and s.step = 86400
      and s.${column} is not null
    order by s.at desc
    limit 1`;
}

const healthText = `
  with unfolded as materialized (
    select
      u.target_id,
      sum(u.delivered)::bigint as delivered,
      sum(u.delivered + u.retried + u.failed)::bigint as attempted,
      max(u.at_ms) filter (where u.delivered + u.retried + u.failed > 0) as attempt_at,
      max(u.at_ms) filter (where u.delivered > 0) as success_at
    from target_activity u
    where u.target_id = any ($1::uuid[])
    group by u.target_id
  )
  select
    t.id as target_id,
    t.kind,
    t.enabled,
    t.disabled_reason,
    t.failing_since,
    now.ms as now_ms,
    (
      select max(c.open_until)
      from open_circuits c
      where c.bucket = b.bucket
        and c.target_id = t.id
        and c.open_until > now.ms - $5::integer
    ) as open_until,
    (
      select coalesce(sum(cardinality(d.event_ids)), 0)::bigint
      from deliveries d
      where d.bucket = b.bucket
        and d.target_id = t.id
        and d.lease_until is not null
    ) as in_flight,
    due.items as due,
    due.rows as due_rows,
    due.oldest as oldest_due,
    held.items as held,
    held.rows as held_rows,
    recent.delivered + coalesce(u.delivered, 0) as delivered,
    recent.attempted + coalesce(u.attempted, 0) as attempted,
    greatest((${latestOf("last_attempt_at")}), u.attempt_at) as last_attempt_at,
    greatest((${latestOf("last_success_at")}), u.success_at) as last_success_at
  from targets t
  left join unfolded u on u.target_id = t.id
  cross join lateral (select get_byte(uuid_send(t.id), 15)::smallint as bucket) b
  cross join lateral (select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms) now
  cross join lateral (
    select coalesce(sum(w.items), 0)::bigint as items, count(*) as rows, min(w.due_at) as oldest
    from (${waiting("now.ms")}) w
  ) due
  cross join lateral (
    select coalesce(sum(w.items), 0)::bigint as items, count(*) as rows
    from (${waiting("9007199254740991")}) w
    where not t.enabled
  ) held
  cross join lateral (
    select
      coalesce(sum(s.delivered), 0)::bigint as delivered,
      coalesce(sum(s.delivered + s.retried + s.failed), 0)::bigint as attempted
    from activity_steps s
    where s.scope_id = t.id
      and s.step = 300
      and s.at >= now.ms / 1000 - 86400
  ) recent
  where t.id = any ($1::uuid[])
    and t.org_id = $2
    and ($3::text is null or t.customer_uid = $3)
  order by t.id`;

/** The activity of a target in one hour; `at` is its beginning in Unix seconds. */
type Hour = Static<typeof ListedHealth>["hours"][number];

const hourSeconds = 3_600;
const hoursShown = 24;

/**
 * Reads the last 24 hours of some targets of an organization, by target; hours without attempts are left out. One statement
 * reads the hourly steps and the activity that is not folded yet.
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
  return Map.groupBy(rows, ({ id }) => id);
}
