import { type RawBuilder, sql } from "kysely";

/** What an event can be; the last four are those of mailbox messages. */
export const eventStatuses = [
  "QUEUED",
  "RETRYING",
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  "UNREAD",
  "CLAIMED",
  "ACKNOWLEDGED",
  "EXPIRED",
] as const;

export type EventStatus = (typeof eventStatuses)[number];

/** The days' partitions that the ids in question lie in; without it every partition is considered. */
export interface IdBounds {
  first: string;
  last: string;
}

/**
 * The status of the row `e` of `events`, as SQL: derived from where the item is, so that nothing has to be updated
 * per item and a deletion shows at once. Scalar subqueries, because the planner turns joins into scans of whole
 * partitions as soon as it thinks that many rows are asked for.
 */
export function statusOf(bounds?: IdBounds): RawBuilder<EventStatus> {
  return sql`case when e.kind = 2 then 'UNREAD' else coalesce(
    (
      select s.status
      from settlements s
      where s.bucket = e.bucket
        and s.event_id = e.id
        ${within(bounds, sql`s.event_id`)}
    ),
    (
      select case
        when not exists (select from targets t where t.id = d.target_id) then 'CANCELED'
        when d.attempts = 0 then 'QUEUED'
        else 'RETRYING'
      end
      from deliveries d
      where d.bucket = e.bucket
        and d.event_id = e.id
    ),
    'DELIVERED'
  ) end`;
}

/**
 * When the row `e` of `events` last changed after it was accepted, in Unix milliseconds, as SQL; null when it
 * did not.
 */
export function changedAtMsOf(bounds?: IdBounds): RawBuilder<number | null> {
  const attemptEnd = (outcome: RawBuilder<boolean>) => sql`(
    select max(a.attempted_at + a.duration_ms)
    from attempts a
    where a.org_id = e.org_id
      and a.event_id = e.id
      and ${outcome}
      ${within(bounds, sql`a.event_id`)}
  )`;
  return sql`greatest(
    (
      select s.settled_at
      from settlements s
      where s.bucket = e.bucket
        and s.event_id = e.id
        ${within(bounds, sql`s.event_id`)}
    ),
    ${attemptEnd(sql`a.outcome = 1`)},
    ${attemptEnd(sql`a.outcome <> 1`)}
  )`;
}

export function within(bounds: IdBounds | undefined, column: RawBuilder<unknown>): RawBuilder<unknown> {
  if (bounds === undefined) return sql``;
  return sql`and ${column} between ${bounds.first} and ${bounds.last}`;
}
