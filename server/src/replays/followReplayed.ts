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
 * Counts the outcomes of events that replay jobs created. The statement that counts an event also removes it from the list, so
 * that each is counted once even if a process crashes. @returns how many have ended.
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
    select settle_replayed(
      ${looked.map((one) => one.replayId)}::uuid[],
      ${looked.map((one) => one.eventId)}::uuid[],
      ${looked.map((one) => one.isDelivered)}::boolean[],
      ${looked.map((one) => one.inMs)}::integer[]
    ) as ended
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
    where finished_at < extract(epoch from statement_timestamp()) * 1000 - ${retentionDays}::bigint * 86400000
    returning id
  `.execute(queries);
  return rows.length;
}
