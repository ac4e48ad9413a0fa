import { type TargetKind } from "../postgres/kinds.ts";
import type pg from "pg";
import { circuitMemoryMs } from "../delivery/rows/openCircuits.ts";

/** How a target fares at this moment; times in Unix seconds. */
export interface TargetHealth {
  target_id: string;
  kind: TargetKind;
  enabled: boolean;
  disabled_reason: string | null;
  circuit: "closed" | "open" | "half_open";
  in_flight: number;
  due: number;
  due_is_exact: boolean;
  oldest_due_at: number | null;
  oldest_due_seconds: number | null;
  success_rate_24h: number | null;
  failing_since: number | null;
  last_attempt_at: number | null;
  last_success_at: number | null;
  held: number;
}

interface HealthRow {
  id: string;
  kind: TargetKind;
  enabled: boolean;
  disabled_reason: string | null;
  failing_since: number | null;
  now_ms: number;
  open_until: number | null;
  in_flight: number;
  due: number;
  due_rows: number;
  oldest_due: number | null;
  held: number;
  held_rows: number;
  delivered: number;
  attempted: number;
  last_attempt_at: number | null;
  last_success_at: number | null;
}

/** Up to here rows of what is due or held are counted; each has up to 64 items. */
const maxCountedRows = 2_500;

/** Which targets: of an organization, or of one of its customers where its caller is limited to that. */
export interface HealthScope {
  orgId: string;
  ids: readonly string[];
  customerUid?: string | undefined;
}

/**
 * How targets fare, over all nodes, in the order of their ids; without those that are not in the scope. One statement. A target
 * costs what the nodes have in hand in its bucket, and at most {@link maxCountedRows} rows of what is due.
 */
export async function readHealths(
  pool: pg.Pool,
  { orgId, ids, customerUid }: HealthScope,
): Promise<TargetHealth[]> {
  const { rows } = await pool.query<HealthRow>({
    name: "target_health",
    text: healthText,
    values: [ids, orgId, customerUid ?? null, maxCountedRows, circuitMemoryMs],
  });
  return rows.map(healthOf);
}

/** The health of one target; undefined when the organization has no such target. */
export async function readHealth(
  pool: pg.Pool,
  orgId: string,
  targetId: string,
): Promise<TargetHealth | undefined> {
  const [health] = await readHealths(pool, { orgId, ids: [targetId] });
  return health;
}

function healthOf(row: HealthRow): TargetHealth {
  return {
    target_id: row.id,
    kind: row.kind,
    enabled: row.enabled,
    disabled_reason: row.disabled_reason,
    circuit: row.open_until === null ? "closed" : row.open_until > row.now_ms ? "open" : "half_open",
    in_flight: row.in_flight,
    due: row.due,
    due_is_exact: Math.max(row.due_rows, row.held_rows) < maxCountedRows,
    oldest_due_at: seconds(row.oldest_due),
    oldest_due_seconds: row.oldest_due === null ? null : Math.floor((row.now_ms - row.oldest_due) / 1000),
    success_rate_24h: row.attempted === 0 ? null : row.delivered / row.attempted,
    failing_since: row.failing_since,
    last_attempt_at: seconds(row.last_attempt_at),
    last_success_at: seconds(row.last_success_at),
    held: row.held,
  };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}

/** Unleased deliveries that are due until a moment, in the order of `deliveries_due`. */
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

/** A time of the last day that has one: three years of days are not read for it. */
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
  select
    t.id,
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
    recent.delivered,
    recent.attempted,
    last.attempt_at as last_attempt_at,
    last.success_at as last_success_at
  from targets t
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
      coalesce(sum(a.delivered), 0)::bigint as delivered,
      coalesce(sum(a.delivered + a.retried + a.failed), 0)::bigint as attempted
    from (
      select s.delivered, s.retried, s.failed
      from activity_steps s
      where s.scope_id = t.id
        and s.step = 300
        and s.at >= now.ms / 1000 - 86400
      union all
      select u.delivered, u.retried, u.failed
      from target_activity u
      where u.target_id = t.id
    ) a
  ) recent
  cross join lateral (
    select
      greatest(
        (${latestOf("last_attempt_at")}),
        (select max(u.at_ms) from target_activity u where u.target_id = t.id and u.delivered + u.retried + u.failed > 0)
      ) as attempt_at,
      greatest(
        (${latestOf("last_success_at")}),
        (select max(u.at_ms) from target_activity u where u.target_id = t.id and u.delivered > 0)
      ) as success_at
  ) last
  where t.id = any ($1::uuid[])
    and t.org_id = $2
    and ($3::text is null or t.customer_uid = $3)
  order by t.id`;
