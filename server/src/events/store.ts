import { kindName, type KindNumber, type TargetKind } from "../postgres/kinds.ts";
import { sql } from "kysely";
import { bucketOf } from "../postgres/ids.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import type { Queries } from "../postgres/tables.ts";
import { readHeaderSets } from "../targets/webhook/headerSets.ts";
import { changedAtMsOf, deliveredGroupOf, type IdBounds, statusOf, within } from "./statuses.ts";

/** An event without its payload, as of the snapshot in which it was read. */
export interface StoredEvent {
  id: string;
  kind: KindNumber;
  orgId: string;
  targetId: string;
  eventType: string | null;
  correlationId: string | null;
  sourceEventId: string | null;
  webhookId: string;
  replayId: string | null;
  publicationId: string | null;
  /** The erasure that emptied the payload; null while there was none. */
  erasureId: string | null;
  maxRetries: number;
  status: EventStatus;
  /** Unix milliseconds; null when the event has not changed since it was accepted. */
  changedAtMs: number | null;
}

export interface StoredAttempt {
  number: number;
  statusCode: number;
  durationMs: number;
  error: string | null;
  attemptedAtMs: number;
  responseBody: Buffer | null;
  /** The target's own headers that the request carried, with secret values masked; undefined for none. */
  requestHeaders: Record<string, string> | undefined;
}

/** More attempts than any retry schedule makes. An event exceeds it only if its target is enabled again and again. */
const maxAttemptsShown = 1_000;

/** The organization whose events are read, and the retention of mailbox messages, from which their statuses follow. */
export interface EventScope {
  orgId: string;
  mailboxRetentionMs: number;
}

/** The organization's events with these ids, newest first. Ids of other organizations' events are ignored. */
export async function readEvents(
  queries: Queries,
  { orgId, mailboxRetentionMs }: EventScope,
  ids: readonly string[],
): Promise<StoredEvent[]> {
  if (ids.length === 0) return [];
  const bounds = boundsOf(ids);
  const { rows } = await sql<StoredEvent>`
    select
      e.id,
      e.kind,
      e.org_id as "orgId",
      e.target_id as "targetId",
      e.event_type as "eventType",
      e.correlation_id as "correlationId",
      e.source_event_id as "sourceEventId",
      coalesce(e.webhook_id, e.id) as "webhookId",
      e.replay_id as "replayId",
      e.publication_id as "publicationId",
      e.erasure_id as "erasureId",
      e.max_retries as "maxRetries",
      ${statusOf(mailboxRetentionMs, bounds)} as status,
      ${changedAtMsOf(bounds)} as "changedAtMs"
    from events e
    where e.org_id = ${orgId}
      and e.id = any (${ids}::uuid[])
      ${within(bounds, sql`e.id`)}
    order by e.id desc
  `.execute(queries);
  return rows;
}

/** The attempts of an event, first to last. */
export async function readAttempts(
  queries: Queries,
  { id, orgId, targetId }: Pick<StoredEvent, "id" | "orgId" | "targetId">,
): Promise<StoredAttempt[]> {
  // Each half is read from its own partial index.
  const half = (outcome: "=" | "<>") => sql`
    select a.number, a.status_code, a.duration_ms, a.error, a.attempted_at, a.response_body, a.header_set
    from attempts a
    where a.org_id = ${orgId}
      and a.event_id = ${id}
      and a.outcome ${sql.raw(outcome)} 1
  `;
  const ofGroup = sql`
    select
      1, g.status_codes[g.item], g.durations_ms[g.item], null, g.attempted_at[g.item], g.response_bodies[g.item],
      g.header_sets[g.item]
    from (values (${bucketOf(id)}::smallint, ${targetId}::uuid, ${id}::uuid)) as e (bucket, target_id, id)
    cross join lateral (
      select *, array_position(g.event_ids, e.id) as item
      ${deliveredGroupOf({ first: id, last: id })}
    ) g
  `;
  const { rows } = await sql<Omit<StoredAttempt, "requestHeaders"> & { headerSet: number | null }>`
    select
      a.number,
      a.status_code as "statusCode",
      a.duration_ms as "durationMs",
      a.error,
      a.attempted_at as "attemptedAtMs",
      a.response_body as "responseBody",
      a.header_set as "headerSet"
    from (${half("=")} union all ${half("<>")} union all ${ofGroup}) a
    order by a.number
    limit ${maxAttemptsShown}
  `.execute(queries);
  const sets = await readHeaderSets(
    queries,
    targetId,
    [...new Set(rows.map((row) => row.headerSet ?? 0))].filter(Boolean),
  );
  return rows.map((attempt) => Object.assign(attempt, { requestHeaders: sets.get(attempt.headerSet ?? 0) }));
}

/**
 * The kind of an existing or deleted target of the organization; undefined for any other id. A deleted target is found by its
 * events, which all belong to one organization.
 */
export async function ownedKind(
  queries: Queries,
  orgId: string,
  targetId: string,
): Promise<TargetKind | undefined> {
  const target = await queries
    .selectFrom("targets")
    .select(["org_id", "kind"])
    .where("id", "=", targetId)
    .executeTakeFirst();
  if (target !== undefined) return target.org_id === orgId ? target.kind : undefined;
  const event = await queries
    .selectFrom("events")
    .select(["org_id", "kind"])
    .where("bucket", "=", bucketOf(targetId))
    .where("target_id", "=", targetId)
    .limit(1)
    .executeTakeFirst();
  return event?.org_id === orgId ? kindName(event.kind) : undefined;
}

export function boundsOf(ids: readonly string[]): IdBounds {
  const sorted = ids.toSorted();
  return { first: sorted[0]!, last: sorted.at(-1)! };
}
