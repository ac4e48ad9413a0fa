import { sql } from "kysely";
import { inSnapshot } from "../events/listEvents.ts";
import { readEvents } from "../events/store.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import { idTimeMs } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";

const perStep = 500;
const maxSteps = 4;
/** Events are polled at intervals of a quarter of their age, so older events less often. */
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
 * that each event is counted once even if a process crashes. @returns the number of events that have ended.
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
    ended += await settle(queries, pending, statuses, nowMs);
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

/** Returns statuses by event id; an event whose partition was dropped has none. */
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

/** Counts the ended events and schedules the next poll of the others. @returns the number of ended events. */
async function settle(
  queries: Queries,
  pending: readonly Pending[],
  statuses: ReadonlyMap<string, EventStatus>,
  nowMs: number,
): Promise<number> {
  const isOneOf = (some: readonly EventStatus[], eventId: string): boolean =>
    some.includes(statuses.get(eventId)!);
  const { rows } = await sql<{ ended: number }>`
    select settle_replayed(
      ${pending.map(({ replayId }) => replayId)}::uuid[],
      ${pending.map(({ eventId }) => eventId)}::uuid[],
      ${pending.map(({ eventId }) => isOneOf(delivered, eventId))}::boolean[],
      ${pending.map(({ eventId }) => (isOneOf(waiting, eventId) ? nextLookInMs(eventId, nowMs) : null))}::integer[]
    ) as ended
  `.execute(queries);
  return rows[0]!.ended;
}

/** Milliseconds until the next poll of an event that has not ended. */
function nextLookInMs(eventId: string, nowMs: number): number {
  const { leastMs, mostMs, ageFactor } = nextLook;
  const ageMs = nowMs - idTimeMs(eventId);
  return Math.round(Math.min(Math.max(ageMs * ageFactor, leastMs), mostMs));
}

/** Deletes jobs that ended longer ago than the retention of their events. @returns the number of deleted jobs. */
export async function forgetReplays(queries: Queries, retentionDays: number): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    delete from replays
    where finished_at < extract(epoch from statement_timestamp()) * 1000 - ${retentionDays}::bigint * 86400000
    returning id
  `.execute(queries);
  return rows.length;
}
