import { type RawBuilder, sql } from "kysely";
import type { EventStatus } from "../items/eventStatuses.ts";
import { lastIdOfSlot } from "../postgres/ids.ts";
import type { EventFilter } from "./eventFilter.ts";

/** Unix milliseconds by the database's clock, constant throughout a transaction. Clocks of nodes disagree. */
export const databaseNowMs = sql`(extract(epoch from now()) * 1000)::bigint`;

/** SQL expression for an id: messages with smaller ids have expired. */
export function expiredBefore(mailboxRetentionMs: number): RawBuilder<unknown> {
  return sql`first_id_at(${databaseNowMs} - ${mailboxRetentionMs}::bigint)`;
}

/** The first and the last id that a query reads. Allows partition pruning by day. */
export interface IdBounds {
  first: string;
  last: string;
}

/**
 * SQL expression for the status of the row `e` of `events`. The status is derived from the tables that have the item, so that no
 * row is updated per item, and a deleted target shows at once. Scalar subqueries are used, because the planner turns joins into
 * scans of whole partitions when it expects many rows.
 */
export function statusOf(mailboxRetentionMs: number, bounds: IdBounds): RawBuilder<EventStatus> {
  return sql`coalesce(
    (select s.status ${settlementOf(bounds)}),
    case when is_pulled(e.kind) then ${messageStatusOf(mailboxRetentionMs, bounds)} end,
    (
      select case
        when not exists (select from targets t where t.id = d.target_id) then 'CANCELED'
        when d.attempts = 0 then 'QUEUED'
        else 'RETRYING'
      end
      from deliveries d
      where d.bucket = e.bucket
        and d.id = e.id
    ),
    case
      when exists (
        select
        from attempts a
        where a.org_id = e.org_id
          and a.event_id = e.id
          and a.outcome = 1
          ${within(bounds, sql`a.event_id`)}
      ) or exists (
        select
        ${deliveredGroupOf(bounds)}
      ) then 'DELIVERED'
      -- The item waits for its first attempt, in a row that it shares with other items.
      when exists (select from targets t where t.id = e.target_id) then 'QUEUED'
      else 'CANCELED'
    end
  )`;
}

/** SQL expression for the status of the row `e` of `events`, an item of a mailbox. */
function messageStatusOf(retentionMs: number, bounds: IdBounds): RawBuilder<EventStatus> {
  return sql`case
    when e.id < ${expiredBefore(retentionMs)} then 'EXPIRED'
    else coalesce(
      (
        select case when c.dead then 'DEAD' else 'ACKNOWLEDGED' end
        ${closedMessageOf(bounds)}
      ),
      ${messageStatus},
      -- Neither held nor closed: its mailbox was deleted.
      'CANCELED'
    )
  end`;
}

/**
 * SQL expression for the time at which the item of the row `e` of `events` last changed, in Unix milliseconds; null when it has
 * not changed since it was accepted.
 */
export function changedAtMsOf(bounds: IdBounds): RawBuilder<number | null> {
  const attemptEnd = (outcome: RawBuilder<boolean>) => sql`(
    select max(a.attempted_at + a.duration_ms)
    from attempts a
    where a.org_id = e.org_id
      and a.event_id = e.id
      and ${outcome}
      ${within(bounds, sql`a.event_id`)}
  )`;
  return sql`greatest(
    (select s.settled_at ${settlementOf(bounds)}),
    ${attemptEnd(sql`a.outcome = 1`)},
    (
      select g.attempted_at[array_position(g.event_ids, e.id)] + g.durations_ms[array_position(g.event_ids, e.id)]
      ${deliveredGroupOf(bounds)}
    ),
    ${attemptEnd(sql`a.outcome <> 1`)},
    (
      select c.closed_at
      ${closedMessageOf(bounds)}
        and is_pulled(e.kind)
    )
  )`;
}

/**
 * SQL `from` clause for the one row `g` of `delivered_groups` that names the event `e`. There is no such row if the event's
 * attempts are in `attempts`. The search reads rows from the event's id on, to the row that names the event or to the end of
 * the event's slot.
 */
export function deliveredGroupOf(bounds: IdBounds): RawBuilder<unknown> {
  return sql`
    from delivered_groups g
    where g.bucket = e.bucket
      and g.target_id = e.target_id
      and g.last_id >= e.id
      and g.last_id < first_id_at((slot_of(e.id) + 1) * 1024)
      and g.event_ids[1] <= e.id
      and e.id = any (g.event_ids)
      and g.last_id >= ${bounds.first}
      and g.last_id <= ${lastIdOfSlot(bounds.last)}
    order by g.last_id
    limit 1
  `;
}

/** SQL `from` clause for the row `s` of `settlements` of the event `e`. There is no row while the event has no settlement. */
export function settlementOf(bounds?: IdBounds): RawBuilder<unknown> {
  return sql`
    from settlements s
    where s.bucket = e.bucket
      and s.event_id = e.id
      ${within(bounds, sql`s.event_id`)}
  `;
}

/** SQL `from` clause for the row `c` of `closed_messages` of the event `e`. No row while the message is in its mailbox. */
function closedMessageOf(bounds: IdBounds): RawBuilder<unknown> {
  return sql`
    from closed_messages c
    where c.bucket = e.bucket
      and c.mailbox_id = e.target_id
      and c.id = e.id
      ${within(bounds, sql`c.id`)}
  `;
}

/** SQL condition, beginning with `and`, that restricts a column to the bounds. */
export function within(bounds: IdBounds | undefined, column: RawBuilder<unknown>): RawBuilder<unknown> {
  if (bounds === undefined) return sql``;
  return sql`and ${column} between ${bounds.first} and ${bounds.last}`;
}

/**
 * SQL condition: whether the row `e` of `events` has this status. Agrees with `statusOf`, but reads only the tables that decide
 * this status, because a search for a page checks thousands of events.
 * @param bounds the first and the last id of the events that are checked.
 */
export function hasStatus(
  { mailboxRetentionMs }: EventFilter,
  status: EventStatus,
  bounds: IdBounds,
): RawBuilder<unknown> {
  const settlement = sql`select ${settlementOf(bounds)}`;
  const closed = sql`select ${closedMessageOf(bounds)}`;
  const notSettled = sql`not exists (${settlement})`;
  const firstKept = expiredBefore(mailboxRetentionMs);
  const isLive = sql`is_pulled(e.kind) and e.id >= ${firstKept} and ${notSettled}`;
  switch (status) {
    case "CANCELED":
      return sql`${statusOf(mailboxRetentionMs, bounds)} = ${status}`;
    case "RETRYING":
      return sql`not is_pulled(e.kind) and ${retried} and ${notSettled}`;
    case "QUEUED":
    case "DELIVERED":
      return sql`not is_pulled(e.kind) and ${statusOf(mailboxRetentionMs, bounds)} = ${status}`;
    case "FAILED":
      return sql`not is_pulled(e.kind) and exists (${settlement} and s.status = ${status})`;
    case "FILTERED":
      return sql`exists (${settlement} and s.status = ${status})`;
    case "EXPIRED":
      return sql`is_pulled(e.kind) and e.id < ${firstKept} and ${notSettled}`;
    case "UNREAD":
    case "CLAIMED":
      return sql`${isLive} and ${messageStatus} = ${status}`;
    case "ACKNOWLEDGED":
      return sql`${isLive} and exists (${closed} and not c.dead)`;
    case "DEAD":
      return sql`${isLive} and (exists (${closed} and c.dead) or ${messageStatus} = ${status})`;
  }
}

/** Whether a retry waits. A delivery that was attempted has a row of its own. */
const retried = sql`exists (
  select
  from deliveries d
  join targets t on t.id = d.target_id
  where d.bucket = e.bucket
    and d.id = e.id
    and d.attempts > 0
)`;

/** SQL expression for the status of a message in its mailbox; null for a closed message. */
const messageStatus = sql`(
  select message_status(m.state, m.claimable_at, m.claim_count, t.max_claims, ${databaseNowMs})
  from messages m
  join targets t on t.id = m.mailbox_id
  where m.bucket = e.bucket
    and m.id = e.id
)`;
