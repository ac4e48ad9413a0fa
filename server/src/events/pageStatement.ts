import { type RawBuilder, sql } from "kysely";
import { bucketOf, lastIdOfSlot } from "../postgres/ids.ts";
import { type EventFilter, type IdStatement, inRange, ordered, pageBy, reach } from "./eventFilter.ts";
import { accepted, firstOfEach } from "./mailboxPage.ts";
import type { EventStatus, MailboxStatus } from "../items/eventStatuses.ts";

/*
 * The statements that find the ids of a page by one condition, or by a status and a target, in the order of an index
 * that has exactly these events: a page costs what it shows, however much is stored and whatever came last. The statuses
 * of mailboxes have their own file.
 *
 * | condition | index |
 * |---|---|
 * | none | `events_org` |
 * | target | the primary key of `events` |
 * | customer | `targets_of_customer`, the primary key of `events` |
 * | correlation | `events_correlation` |
 * | event type | `events_type` |
 * | replay of many | `events_replay` |
 * | state of a handoff, with a target or not | `handoffs_state`, `handoffs_state_target` |
 * | DELIVERED | `attempts_delivered`, `delivered_groups_org` |
 * | DELIVERED of a target | `attempts_delivered_target`, the primary key of `delivered_groups` |
 * | FAILED, FILTERED, CANCELED, with a target or not | `settlements_org`, `settlements_target` |
 * | QUEUED, RETRYING, with a target or not | `deliveries_listed`, `deliveries_leased` |
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
export function customerPage(filter: EventFilter, customerUid: string): IdStatement {
  const { orgId } = filter;
  const targets = sql`(select id from targets where org_id = ${orgId} and customer_uid = ${customerUid})`;
  return firstOfEach(filter, targets, accepted(filter));
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

/** The rows `e` of `events` that meet a condition by which an index has them in order. */
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
  const owner =
    filter.targetId === undefined ? sql`s.org_id = ${filter.orgId}` : sql`s.target_id = ${filter.targetId}`;
  return sql`
    select s.event_id as id
    from settlements s
    where ${owner}
      and s.status = ${status}
      ${inRange(filter, sql`s.event_id`)}
    ${pageBy(filter, sql`s.event_id`)}
  `;
}

/**
 * The first waiting deliveries of each target, merged. Leased deliveries are all read: they are no more than the nodes hold in
 * memory at this moment.
 */
function waitingPage(filter: EventFilter, status: "QUEUED" | "RETRYING"): IdStatement {
  const tried = status === "QUEUED" ? sql`0` : sql`1`;
  const targets =
    filter.targetId === undefined
      ? sql`t.org_id = ${filter.orgId}`
      : sql`t.org_id = ${filter.orgId} and t.id = ${filter.targetId}`;
  const waiting: ItemRows = {
    table: sql`deliveries d`,
    condition: sql`
      d.bucket = get_byte(uuid_send(t.id), 15)
      and d.target_id = t.id
      and least(d.attempts, 1) = ${tried}
      and d.lease_until is null
    `,
    // As `deliveries_listed` has it.
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

/** Rows `d` that name items each (`event_ids`), and the index that has them by the last of these. */
interface ItemRows {
  table: RawBuilder<unknown>;
  condition: RawBuilder<unknown>;
  lastItem: RawBuilder<unknown>;
}

/**
 * The items of the rows that a page can need, in order. Rows of one slot overlap, those of different slots do not, and
 * their index has them by their last items.
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
 * The rows with the newest items. Once the rows of some slots hold a page, the next slot has nothing for it. As many
 * rows as the page has items are enough in any case.
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

/** Rows that straddle the range's end: some of their items are below it. All of them are of the slot of that end. */
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

/** The rows with the oldest items: as many as the page has items, and the others of the last one's slot. */
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
