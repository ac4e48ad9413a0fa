import { sql } from "kysely";
import { bucketOf, firstIdAt, idTimeMs, lastIdOfSlot } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { deliveredGroupOf, within } from "./statuses.ts";
import { boundsOf, type StoredEvent } from "./store.ts";

/** The progress of an event's delivery. */
export interface Progress {
  attempts: number;
  /** The status code of the last attempt: 0 if there was no answer, null before the first attempt. */
  statusCode: number | null;
  durationMs: number | null;
  /** Why the last attempt failed; null when it succeeded or there was none. */
  error: string | null;
  /** Unix milliseconds of the next attempt; null when an attempt is in flight, none will follow, or the event is held. */
  dueAtMs: number | null;
  /** Whether the event waits until its disabled target is enabled. */
  isHeld: boolean;
}

type Progressing = Pick<StoredEvent, "id" | "orgId" | "targetId" | "status">;

/** Reads the progress of deliveries, by the ids of their events. */
export async function readProgress(
  snapshot: Queries,
  events: readonly Progressing[],
): Promise<Map<string, Progress>> {
  if (events.length === 0) return new Map();
  const attempts = await readLastAttempts(snapshot, events);
  const waiting = await readWaiting(
    snapshot,
    events.filter(({ status }) => status === "QUEUED" || status === "RETRYING"),
  );
  return new Map(events.map(({ id }) => [id, { ...noProgress, ...attempts.get(id), ...waiting.get(id) }]));
}

const noProgress: Progress = {
  attempts: 0,
  statusCode: null,
  durationMs: null,
  error: null,
  dueAtMs: null,
  isHeld: false,
};

type LastAttempt = Pick<Progress, "attempts" | "statusCode" | "durationMs" | "error">;

async function readLastAttempts(
  snapshot: Queries,
  events: readonly Progressing[],
): Promise<Map<string, LastAttempt>> {
  // The bounds restrict the plan to the partitions of these events' days.
  const bounds = boundsOf(events.map(({ id }) => id));
  // Each half is read from its own partial index.
  const half = (outcome: "=" | "<>") => sql`
    select a.number, a.status_code, a.duration_ms, a.error
    from attempts a
    where a.org_id = e.org_id
      and a.event_id = e.id
      and a.outcome ${sql.raw(outcome)} 1
      ${within(bounds, sql`a.event_id`)}
  `;
  const { rows } = await sql<LastAttempt & { id: string }>`
    select
      e.id,
      l.number as attempts,
      l.status_code as "statusCode",
      l.duration_ms as "durationMs",
      l.error
    from ${listed(events)}
    cross join lateral (
      select a.number, a.status_code, a.duration_ms, a.error
      from (
        ${half("=")}
        union all
        ${half("<>")}
        union all
        select 1, g.status_codes[g.place], g.durations_ms[g.place], null
        from (
          select *, array_position(g.event_ids, e.id) as place
          ${deliveredGroupOf(bounds)}
        ) g
      ) a
      order by a.number desc
      limit 1
    ) l
  `.execute(snapshot);
  return byId(rows);
}

async function readWaiting(
  snapshot: Queries,
  events: readonly Progressing[],
): Promise<Map<string, Pick<Progress, "dueAtMs" | "isHeld">>> {
  if (events.length === 0) return new Map();
  const { rows } = await sql<{ id: string; isHeld: boolean; dueAtMs: number | null }>`
    select
      e.id,
      not t.enabled as "isHeld",
      case when t.enabled then w.due_at end as "dueAtMs"
    from ${listed(events)}
    join targets t on t.id = e.target_id
    left join lateral (
      select d.due_at
      from deliveries d
      where d.bucket = e.bucket
        and d.id = e.id
        and d.lease_until is null
      union all
      (
        -- Untried items, which may share a row with other items.
        select d.due_at
        from deliveries d
        where d.bucket = e.bucket
          and d.target_id = e.target_id
          and least(d.attempts, 1) = 0
          and d.event_ids[cardinality(d.event_ids)] >= e.id
          and d.event_ids[cardinality(d.event_ids)] < e.slot_end
          and d.lease_until is null
          and e.id = any (d.event_ids)
        limit 1
      )
      limit 1
    ) w on true
  `.execute(snapshot);
  return byId(rows);
}

/** The events as rows `e`, with the columns of `events` by which other tables are searched. */
function listed(events: readonly Progressing[]) {
  const column = <T>(of: (event: Progressing) => T): T[] => events.map(of);
  return sql`unnest(
    ${column(({ id }) => bucketOf(id))}::smallint[],
    ${column(({ orgId }) => orgId)}::uuid[],
    ${column(({ targetId }) => targetId)}::uuid[],
    ${column(({ id }) => id)}::uuid[],
    ${column(({ id }) => firstIdAt(idTimeMs(lastIdOfSlot(id)) + 1))}::uuid[]
  ) as e (bucket, org_id, target_id, id, slot_end)`;
}

function byId<Row extends { id: string }>(rows: readonly Row[]): Map<string, Omit<Row, "id">> {
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}
