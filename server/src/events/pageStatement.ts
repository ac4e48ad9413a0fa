import { type RawBuilder, sql } from "kysely";
import { bucketOf, lastIdOfSlot } from "../postgres/ids.ts";
import type { EventScope } from "./store.ts";
import { type EventStatus, isMailboxStatus, type MailboxStatus, statusOf } from "./statuses.ts";

/** Which events a list asks for; newest first. */
export interface EventFilter extends EventScope {
  /** A target that belongs to the organization, or did. */
  targetId?: string;
  status?: EventStatus;
  correlationId?: string;
  /** Only events older than this one. */
  before?: string;
  limit: number;
  offset: number;
}

export type IdStatement = RawBuilder<{ id: string }>;

/**
 * The statement that finds the ids of a page, newest first. Each kind of filter begins at the index that holds the
 * fewest rows for it and already has them in order, so that a page costs what it shows, however much is stored:
 *
 * | filter | index |
 * |---|---|
 * | none | `events_org` |
 * | target | the primary key of `events` |
 * | correlation | `events_correlation` |
 * | DELIVERED | `attempts_delivered`, `delivered_groups_org` |
 * | FAILED, FILTERED, CANCELED, with a target or not | `settlements_org`, `settlements_target` |
 * | QUEUED, RETRYING, with a target or not | `deliveries_listed`, `deliveries_leased` |
 *
 * A correlation with a status, and a target with DELIVERED, walk their events from the newest on and look up the
 * status of each. The statuses of mailboxes have their own file.
 */
export function pageStatement(
  filter: EventFilter,
  status: Exclude<EventStatus, MailboxStatus> | undefined,
): IdStatement {
  switch (status) {
    case undefined:
      return eventsWalk(filter);
    case "QUEUED":
    case "RETRYING":
      return waitingPage(filter, status);
    case "FAILED":
    case "FILTERED":
    case "CANCELED":
      return settledPage(filter, status);
    case "DELIVERED":
      return filter.targetId === undefined ? deliveredPage(filter) : eventsWalk(filter);
  }
}

/** The events of the organization, target or correlation, with the status of each looked up when one is asked for. */
export function eventsWalk(filter: EventFilter): IdStatement {
  const conditions = [
    filter.targetId !== undefined && filter.correlationId === undefined
      ? sql`e.bucket = ${bucketOf(filter.targetId)} and e.target_id = ${filter.targetId}`
      : sql`e.org_id = ${filter.orgId}`,
  ];
  if (filter.correlationId !== undefined) {
    conditions.push(sql`e.correlation_id = ${filter.correlationId}`);
    if (filter.targetId !== undefined) conditions.push(sql`e.target_id = ${filter.targetId}`);
  }
  if (filter.status !== undefined) {
    // Of the other kinds no status need be looked up.
    if (isMailboxStatus(filter.status)) conditions.push(sql`e.kind = 2`);
    conditions.push(sql`${statusOf(filter.mailboxRetentionMs)} = ${filter.status}`);
  }
  return sql`
    select e.id
    from events e
    where ${sql.join(conditions, sql` and `)}
      ${older(filter, sql`e.id`)}
    order by e.id desc
    ${pageOf(filter)}
  `;
}

function deliveredPage(filter: EventFilter): IdStatement {
  const groups = {
    table: sql`delivered_groups d`,
    condition: sql`d.org_id = ${filter.orgId}`,
    lastItem: sql`d.last_id`,
  };
  return sql`
    select w.id
    from (
      (
        select a.event_id as id
        from attempts a
        where a.org_id = ${filter.orgId}
          and a.outcome = 1
          ${older(filter, sql`a.event_id`)}
        order by a.event_id desc
        limit ${filter.offset + filter.limit}
      )
      union all
      (
        select i.id
        from (${newestRows(filter, groups)} ${rowsAround(filter, groups)}) d
        cross join unnest(d.event_ids) as i (id)
        where true
          ${older(filter, sql`i.id`)}
      )
    ) w
    order by w.id desc
    ${pageOf(filter)}
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
      ${older(filter, sql`s.event_id`)}
    order by s.event_id desc
    ${pageOf(filter)}
  `;
}

/**
 * The newest of each target's waiting deliveries, merged. What is leased is no more than the nodes have in
 * hand at this moment, and is read whole.
 */
function waitingPage(filter: EventFilter, status: "QUEUED" | "RETRYING"): IdStatement {
  const tried = status === "QUEUED" ? sql`0` : sql`1`;
  const targets =
    filter.targetId === undefined
      ? sql`t.org_id = ${filter.orgId}`
      : sql`t.org_id = ${filter.orgId} and t.id = ${filter.targetId}`;
  const waiting = {
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
      select newest.id
      from targets t
      cross join lateral (
        select i.id
        from (${newestRows(filter, waiting)} ${rowsAround(filter, waiting)}) d
        cross join unnest(d.event_ids) as i (id)
        where true
          ${older(filter, sql`i.id`)}
        order by i.id desc
        limit ${filter.offset + filter.limit}
      ) newest
      where ${targets}
      union all
      select i.id
      from deliveries d
      join targets t on t.id = d.target_id
      cross join unnest(d.event_ids) as i (id)
      where ${targets}
        and least(d.attempts, 1) = ${tried}
        and d.lease_until is not null
        ${older(filter, sql`i.id`)}
    ) w
    order by w.id desc
    ${pageOf(filter)}
  `;
}

/** Rows `d` that name items each (`event_ids`), and the index that has them by the last of these. */
interface ItemRows {
  table: RawBuilder<unknown>;
  condition: RawBuilder<unknown>;
  lastItem: RawBuilder<unknown>;
}

/**
 * The rows with the newest items. Rows of one slot overlap, those of different slots do not: once the rows of some
 * slots hold a page, the next slot has nothing for it. As many rows as the page has items are enough in any case.
 */
function newestRows(filter: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  const count = filter.offset + filter.limit;
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
          ${older(filter, lastItem)}
        order by ${lastItem} desc
        limit ${count}
      ) n
    ) r
    where coalesce(r.newer, 0) < ${count}
  `;
}

/** The rows whose items are in part older than `before`, which are all of its slot. */
function rowsAround(filter: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  if (filter.before === undefined) return sql``;
  return sql`
    union all
    select d.event_ids
    from ${table}
    where ${condition}
      and ${lastItem} >= ${filter.before}
      and ${lastItem} <= ${lastIdOfSlot(filter.before)}
      and d.event_ids[1] < ${filter.before}
  `;
}

/** Restricts a column of ids to those before `before`, as a further condition. */
export function older(filter: EventFilter, column: RawBuilder<unknown>): RawBuilder<unknown> {
  return filter.before === undefined ? sql`` : sql`and ${column} < ${filter.before}`;
}

export function pageOf(filter: EventFilter): RawBuilder<unknown> {
  return sql`limit ${filter.limit} offset ${filter.offset}`;
}
