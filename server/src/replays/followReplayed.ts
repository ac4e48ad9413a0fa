import { sql } from "kysely";
import { inSnapshot } from "../events/listEvents.ts";
import { readEvents } from "../events/store.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import { idTimeMs } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";

const perStep = 500;
const maxSteps = 4;
/** Old events are polled less often: after a quarter of their age. */
const nextLook = { leastMs: 1_000, mostMs: 300_000, ageFactor: 0.25 };

const waiting: readonly EventStatus[] = ["QUEUED", "RETRYING", "UNREAD", "CLAIMED"];
const delivered: readonly EventStatus[] = ["DELIVERED", "ACKNOWLEDGED"];

interface Pending {
  replayId: string;
  eventId: string;
  orgId: string;
}

/**
 * Counts how the events that jobs made have ended. An event leaves the list in the statement that counts it, so that it is
 * counted once, whoever crashes. @returns how many have ended.
 */
export async function followReplayed(
  queries: Queries,
  { mailboxRetentionMs, nowMs }: { mailboxRetentionMs: number; nowMs: number },
): Promise<number> {
  let ended = 0;
  for (let step = 0; step < maxSteps; step++) {
    const pending = await readDue(queries);
    if (pending.length === 0) break;
    const statuses = await readStatuses(queries, pending, mailboxRetentionMs);
    ended += await settle(queries, lookAt(pending, statuses, nowMs));
    if (pending.length < perStep) break;
  }
  return ended;
}

async function readDue(queries: Queries): Promise<Pending[]> {
  const { rows } = await sql<Pending>`
    select p.replay_id as "replayId", p.event_id as "eventId", r.org_id as "orgId"
    from (
      select p.replay_id, p.event_id
      from replay_pending p
      where p.due_at <= extract(epoch from clock_timestamp()) * 1000
      order by p.due_at
      limit ${perStep}
    ) p
    join replays r on r.id = p.replay_id
  `.execute(queries);
  return rows;
}

/** The statuses by event; none for what was dropped with its day. */
async function readStatuses(
  queries: Queries,
  pending: readonly Pending[],
  mailboxRetentionMs: number,
): Promise<Map<string, EventStatus>> {
  const statuses = new Map<string, EventStatus>();
  await inSnapshot(queries, async (snapshot) => {
    for (const [orgId, ofOrg] of Map.groupBy(pending, (one) => one.orgId)) {
      const ids = ofOrg.map(({ eventId }) => eventId);
      for (const { id, status } of await readEvents(snapshot, { orgId, mailboxRetentionMs }, ids)) {
        statuses.set(id, status);
      }
    }
  });
  return statuses;
}

/** The state of one event. */
interface Looked {
  replayId: string;
  eventId: string;
  isDelivered: boolean;
  /** Until the next look; null when it has ended. */
  inMs: number | null;
}

function lookAt(
  pending: readonly Pending[],
  statuses: ReadonlyMap<string, EventStatus>,
  nowMs: number,
): Looked[] {
  return pending.map(({ replayId, eventId }) => {
    const status = statuses.get(eventId);
    const isWaiting = status !== undefined && waiting.includes(status);
    const isDelivered = status !== undefined && delivered.includes(status);
    return { replayId, eventId, isDelivered, inMs: isWaiting ? nextLookInMs(eventId, nowMs) : null };
  });
}

/** Counts what has ended, and plans the next look at the rest. @returns how many have ended. */
async function settle(queries: Queries, looked: readonly Looked[]): Promise<number> {
  const { rows } = await sql<{ ended: number }>`
    with looked as materialized (
      select l.replay_id, l.event_id, l.is_delivered, l.in_ms
      from unnest(
        ${looked.map((one) => one.replayId)}::uuid[],
        ${looked.map((one) => one.eventId)}::uuid[],
        ${looked.map((one) => one.isDelivered)}::boolean[],
        ${looked.map((one) => one.inMs)}::integer[]
      ) as l (replay_id, event_id, is_delivered, in_ms)
    ),
    -- In one order for all nodes, so that two cannot deadlock; what another holds it counts itself.
    held as materialized (
      select p.replay_id, p.event_id, l.is_delivered, l.in_ms
      from looked l
      join replay_pending p on p.replay_id = l.replay_id and p.event_id = l.event_id
      for update of p skip locked
    ),
    gone as (
      delete from replay_pending p
      using held h
      where p.replay_id = h.replay_id
        and p.event_id = h.event_id
        and h.in_ms is null
      returning p.replay_id, h.is_delivered
    ),
    later as (
      update replay_pending p
      set due_at = (extract(epoch from statement_timestamp()) * 1000)::bigint + h.in_ms
      from held h
      where p.replay_id = h.replay_id
        and p.event_id = h.event_id
        and h.in_ms is not null
    ),
    sums as materialized (
      select
        g.replay_id,
        count(*) filter (where g.is_delivered) as delivered,
        count(*) filter (where not g.is_delivered) as failed
      from gone g
      group by g.replay_id
    ),
    locked as materialized (
      select r.id
      from replays r
      join sums s on s.replay_id = r.id
      order by r.id
      for no key update of r
    ),
    counted as (
      update replays r
      set delivered = r.delivered + s.delivered,
        failed = r.failed + s.failed
      from sums s
      join locked l on l.id = s.replay_id
      where r.id = s.replay_id
    )
    select coalesce(sum(s.delivered + s.failed), 0)::integer as ended
    from sums s
  `.execute(queries);
  return rows[0]!.ended;
}

function nextLookInMs(eventId: string, nowMs: number): number {
  const { leastMs, mostMs, ageFactor } = nextLook;
  const ageMs = nowMs - idTimeMs(eventId);
  return Math.round(Math.min(Math.max(ageMs * ageFactor, leastMs), mostMs));
}

/** Forgets jobs that ended before the retention of what they made. @returns how many. */
export async function forgetReplays(queries: Queries, retentionDays: number): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    delete from replays
    where finished_at < extract(epoch from clock_timestamp()) * 1000 - ${retentionDays}::bigint * 86400000
    returning id
  `.execute(queries);
  return rows.length;
}
