import type pg from "pg";
import { bucketOf } from "../../src/postgres/ids.ts";

/*
 * Events and their outcomes, stored as the service would: of any age and kind, in any number, and in states that
 * depend on the timing of batches and attempts.
 */

/** The events of one target of an organization. */
export interface EventsOf {
  orgId: string;
  targetId: string;
  ids: readonly string[];
}

/**
 * The parameters with which every statement below begins: $1 the bucket, $2 the target, $3 the organization, $4
 * the events.
 */
function ownersOf({ targetId, orgId, ids }: EventsOf): unknown[] {
  return [bucketOf(targetId), targetId, orgId, ids];
}

export interface EventFields {
  /** Number of the target's kind; by default a webhook's. */
  kind?: number;
  eventType?: string | null;
  payload?: string;
}

/** Stores events without attempts, waiting rows or messages. */
export async function storeEvents(
  pool: pg.Pool,
  events: EventsOf,
  { kind = 1, eventType = null, payload = "{}" }: EventFields = {},
): Promise<void> {
  await pool.query(
    `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, event_type, payload)
     select $1, $5, 8, true, $2, id, $3, $6, $7
     from unnest($4::uuid[]) as id`,
    [...ownersOf(events), kind, eventType, Buffer.from(payload)],
  );
}

/** Stores the single delivering attempt of each event, numbered `number`. */
export async function storeAttempts(pool: pg.Pool, events: EventsOf, number: number): Promise<void> {
  await pool.query(
    `insert into attempts (
       bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at
     )
     select $1, $5, 1, 200, 5, id, $3, $2, 1
     from unnest($4::uuid[]) as id`,
    [...ownersOf(events), number],
  );
}

/** The answer to an event's attempt, and its time. */
export interface StoredAttempt {
  statusCode: number;
  durationMs: number;
  attemptedAtMs: number;
  responseBody: Buffer | null;
}

/**
 * Stores one row for the first attempts of events that were delivered together; the events come from {@link
 * storeEvents}.
 */
export async function storeDeliveredGroup(
  pool: pg.Pool,
  events: EventsOf,
  attempts: readonly StoredAttempt[],
): Promise<void> {
  await pool.query(
    `insert into delivered_groups (
       bucket, target_id, org_id, event_ids, last_id, status_codes, durations_ms, attempted_at, response_bodies
     )
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...ownersOf(events),
      events.ids.at(-1),
      attempts.map(({ statusCode }) => statusCode),
      attempts.map(({ durationMs }) => durationMs),
      attempts.map(({ attemptedAtMs }) => attemptedAtMs),
      attempts.map(({ responseBody }) => responseBody),
    ],
  );
}

export interface WaitingFields {
  dueAtMs: number;
  attempts?: number;
}

/** Stores a waiting row for each of the events, stored or not. */
export async function storeWaiting(
  pool: pg.Pool,
  events: EventsOf,
  { dueAtMs, attempts = 0 }: WaitingFields,
): Promise<void> {
  await pool.query(
    `insert into deliveries (bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, event_ids)
     select $1, 1, $5, $5, id, $2, $3, $6, array[id]
     from unnest($4::uuid[]) as id`,
    [...ownersOf(events), attempts, dueAtMs],
  );
}

/**
 * Stores one waiting row of this id for all of the events, due long ago; optionally with a lease that does not
 * end.
 */
export async function storeWaitingGroup(
  pool: pg.Pool,
  events: EventsOf,
  { id, isLeased }: { id: string; isLeased: boolean },
): Promise<void> {
  await pool.query(
    `insert into deliveries (bucket, kind, target_id, org_id, event_ids, id, due_at, lease_until, lease_token)
     values ($1, 1, $2, $3, $4, $5, 1, $6::bigint, $6::bigint)`,
    [...ownersOf(events), id, isLeased ? 9e15 : null],
  );
}

/** Stores unread messages for the events of a mailbox. */
export async function storeMessages(
  pool: pg.Pool,
  { targetId, ids }: Pick<EventsOf, "targetId" | "ids">,
): Promise<void> {
  await pool.query(
    "insert into messages (bucket, size, mailbox_id, id) select $1, 2, $2, id from unnest($3::uuid[]) as id",
    [bucketOf(targetId), targetId, ids],
  );
}

export interface HandoffFields {
  state: string | null;
  outcome: string | null;
}

/** Stores handoffs with tasks for the events. */
export async function storeHandoffs(
  pool: pg.Pool,
  events: EventsOf,
  { state, outcome }: HandoffFields,
): Promise<void> {
  await pool.query(
    `insert into handoffs (bucket, target_id, org_id, event_id, accepted_at, state, outcome, updated_at)
     select $1, $2, $3, id, 1, $5, $6, 1
     from unnest($4::uuid[]) as id`,
    [...ownersOf(events), state, outcome],
  );
}

/** Removes events and their attempts, as if the partitions of their days had been dropped. */
export async function removeEvents(pool: pg.Pool, ids: readonly string[]): Promise<void> {
  await pool.query("delete from events where id = any ($1)", [ids]);
  await pool.query("delete from attempts where event_id = any ($1)", [ids]);
}
