import { type RawBuilder, sql } from "kysely";
import { bucketOf, lastIdOfSlot } from "../postgres/ids.ts";
import {
  type EventFilter,
  type IdStatement,
  inRange,
  inScope,
  ordered,
  pageBy,
  reach,
} from "./eventFilter.ts";
import { accepted, firstOfEach } from "./mailboxPage.ts";
import type { EventStatus, MailboxStatus } from "../items/eventStatuses.ts";

/*
 * The statements that find the ids of a page by one condition, or by a status and a target. Each reads in order an index that
 * has exactly the matching events, so that the cost depends on the size of the page, and not on the number of stored events or
 * on which came last. `mailboxPage.ts` has the statements for statuses of mailboxes.
 *
 * | condition | index |
 * |---|---|
 * | none | `events_org` |
 * | target | the primary key of `events` |
 * | customer | `targets_of_customer`, the primary key of `events` |
 * | correlation | `events_correlation` |
 * | event type | `events_type` |
 * | replay of many | `events_replay` |
 * | state of a handoff, with or without a target | `handoffs_state`, `handoffs_state_target` |
 * | DELIVERED | `attempts_delivered`, `delivered_groups_org` |
 * | DELIVERED of a target | `attempts_delivered_target`, the primary key of `delivered_groups` |
 * | FAILED, FILTERED, CANCELED, with or without a target or a customer | `settlements_org`, `settlements_target` |
 * | QUEUED, RETRYING, with or without a target or a customer | `deliveries_listed`, `deliveries_leased` |
 */

/** The events of a status, of the organization or of the filter's target. */
export function statusPage(filter: EventFilter, status: Exclude<EventStatus, MailboxStatus>): IdStatement {
  switch (status) {
    case "QUEUED":
    case "RETRYING":
      return waitingPage(filter, status);
    case "FAILED":
    case "FILTERED":
    case "CANCELED":
      return settledPage(filter, status);
    case "DELIVERED":
      return deliveredPage(filter);
  }
}

/** The first events of each of a customer's targets, merged. */
export function customerPage(filter: EventFilter): IdStatement {
  return firstOfEach(filter, targetsOf(filter), accepted(filter));
}

function targetsOf(filter: EventFilter): RawBuilder<unknown> {
  return sql`(select t.id from targets t where ${inScope(filter)})`;
}

/** The handoffs in a state, of the organization or of the filter's target. */
export function handoffPage(filter: EventFilter, state: string): IdStatement {
  const { orgId, targetId } = filter;
  return sql`
    select h.event_id as id
    from handoffs h
    where ${targetId === undefined ? sql`h.org_id = ${orgId}` : sql`h.target_id = ${targetId}`}
      and coalesce(h.state, h.outcome) = ${state}
      ${inRange(filter, sql`h.event_id`)}
    ${pageBy(filter, sql`h.event_id`)}
  `;
}

/** The rows `e` of `events` that meet a condition. An index must have these rows in order. */
export function eventsWhere(filter: EventFilter, condition: RawBuilder<unknown>): IdStatement {
  return sql`
    select e.id
    from events e
    where ${condition}
      ${inRange(filter, sql`e.id`)}
    ${pageBy(filter, sql`e.id`)}
  `;
}

function deliveredPage(filter: EventFilter): IdStatement {
  const { orgId, targetId } = filter;
  const groups: ItemRows = {
    table: sql`delivered_groups d`,
    condition:
      targetId === undefined
        ? sql`d.org_id = ${orgId}`
        : sql`d.bucket = ${bucketOf(targetId)} and d.target_id = ${targetId}`,
    lastItem: sql`d.last_id`,
  };
  return sql`
    select w.id
    from (
      (
        select a.event_id as id
        from attempts a
        where ${targetId === undefined ? sql`a.org_id = ${orgId}` : sql`a.target_id = ${targetId}`}
          and a.outcome = 1
          ${inRange(filter, sql`a.event_id`)}
        ${ordered(filter, sql`a.event_id`)}
        limit ${reach(filter)}
      )
      union all
      (${firstItems(filter, groups)})
    ) w
    ${pageBy(filter, sql`w.id`)}
  `;
}

function settledPage(filter: EventFilter, status: EventStatus): IdStatement {
  const { orgId, targetId, customerUid } = filter;
  const settled = (owner: RawBuilder<unknown>) => sql`
    select s.event_id as id
    from settlements s
    where ${owner}
      and s.status = ${status}
      ${inRange(filter, sql`s.event_id`)}
  `;
  if (targetId === undefined && customerUid !== undefined) {
    const ofEach = sql`${settled(sql`s.target_id = t.id`)} ${ordered(filter, sql`s.event_id`)}`;
    return firstOfEach(filter, targetsOf(filter), ofEach);
  }
  const owner = targetId === undefined ? sql`s.org_id = ${orgId}` : sql`s.target_id = ${targetId}`;
  return sql`${settled(owner)} ${pageBy(filter, sql`s.event_id`)}`;
}

/**
 * The first waiting deliveries of each target, merged. All leased deliveries are read, because there are only as many as the
 * nodes hold in memory.
 */
function waitingPage(filter: EventFilter, status: "QUEUED" | "RETRYING"): IdStatement {
  const tried = status === "QUEUED" ? sql`0` : sql`1`;
  const targets = inScope(filter);
  const waiting: ItemRows = {
    table: sql`deliveries d`,
    condition: sql`
      d.bucket = get_byte(uuid_send(t.id), 15)
      and d.target_id = t.id
      and least(d.attempts, 1) = ${tried}
      and d.lease_until is null
    `,
    // The expression that `deliveries_listed` indexes.
    lastItem: sql`d.event_ids[cardinality(d.event_ids)]`,
  };
  return sql`
    select w.id
    from (
      select first.id
      from targets t
      cross join lateral (${firstItems(filter, waiting)}) first
      where ${targets}
      union all
      select i.id
      from deliveries d
      join targets t on t.id = d.target_id
      cross join unnest(d.event_ids) as i (id)
      where ${targets}
        and least(d.attempts, 1) = ${tried}
        and d.lease_until is not null
        ${inRange(filter, sql`i.id`)}
    ) w
    ${pageBy(filter, sql`w.id`)}
  `;
}

/** Rows `d`, each of which names several items (`event_ids`), and the indexed expression for the last of these items. */
interface ItemRows {
  table: RawBuilder<unknown>;
  condition: RawBuilder<unknown>;
  lastItem: RawBuilder<unknown>;
}

/**
 * The items of the rows that a page can need, in order. The index has the rows by their last items. The ranges of rows of one
 * slot overlap, and the ranges of different slots do not.
 */
function firstItems(filter: EventFilter, rows: ItemRows): RawBuilder<unknown> {
  const chosen =
    filter.order === "desc"
      ? sql`${newestRows(filter, rows)} ${rowsAround(filter, rows)}`
      : oldestRows(filter, rows);
  return sql`
    select i.id
    from (${chosen}) d
    cross join unnest(d.event_ids) as i (id)
    where true
      ${inRange(filter, sql`i.id`)}
    ${ordered(filter, sql`i.id`)}
    limit ${reach(filter)}
  `;
}

/**
 * The rows with the newest items. Slots are added until their rows have enough items for the page; the page needs no row of an
 * older slot. As many rows as the page has items always suffice.
 */
function newestRows(filter: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  const count = reach(filter);
  return sql`
    select r.event_ids
    from (
      select
        n.event_ids,
        sum(cardinality(n.event_ids)) over (
          order by slot_of(n.event_ids[1]) desc
          groups between unbounded preceding and 1 preceding
        ) as newer
      from (
        select d.event_ids
        from ${table}
        where ${condition}
          ${inRange(filter, lastItem)}
        order by ${lastItem} desc
        limit ${count}
      ) n
    ) r
    where coalesce(r.newer, 0) < ${count}
  `;
}

/** Rows with items on both sides of the bound `below`. All these rows are of the slot of `below`. */
function rowsAround({ below }: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  if (below === undefined) return sql``;
  return sql`
    union all
    select d.event_ids
    from ${table}
    where ${condition}
      and ${lastItem} >= ${below}
      and ${lastItem} <= ${lastIdOfSlot(below)}
      and d.event_ids[1] < ${below}
  `;
}

/** The rows with the oldest items: as many rows as the page has items, and all further rows of the last row's slot. */
function oldestRows(filter: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  const range = {
    ...filter,
    // A row whose last item is above the range may have its first items within it.
    below: filter.below === undefined ? undefined : lastIdOfSlot(filter.below),
  };
  return sql`
    select d.event_ids
    from ${table}
    where ${condition}
      ${inRange(range, lastItem)}
      and ${lastItem} < coalesce(
        (
          select first_id_at((slot_of(n.last_item) + 1) * 1024)
          from (
            select ${lastItem} as last_item
            from ${table}
            where ${condition}
              ${inRange(range, lastItem)}
            order by ${lastItem}
            limit 1
            offset ${reach(filter) - 1}
          ) n
        ),
        'ffffffff-ffff-ffff-ffff-ffffffffffff'
      )
  `;
}
