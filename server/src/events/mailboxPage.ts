import { type RawBuilder, sql } from "kysely";
import {
  type EventFilter,
  type IdStatement,
  inRange,
  inScope,
  ordered,
  pageBy,
  reach,
} from "./eventFilter.ts";
import type { Queries } from "../postgres/tables.ts";
import { databaseNowMs, expiredBefore, settlementOf } from "./statuses.ts";
import type { MailboxStatus } from "../items/eventStatuses.ts";

/** Up to this number, unread messages are sorted for a page. Beyond it, messages are read in order. */
const maxSortedMessages = 10_000;

/** Counts messages that may be unread in the filter's mailboxes, up to one more than are sorted. */
function unreadCountStatement(filter: EventFilter): RawBuilder<{ count: number }> {
  return sql`
    select count(*) as count
    from (
      select
      from (${liveMessages(filter, sql`m.state = 1`)} union all ${liveMessages(filter, sql`m.state <> 1`)}) m
      limit ${maxSortedMessages + 1}
    ) counted
  `;
}

/** Facts that are read before the statement for a page of a mailbox status can be chosen. */
export interface MailboxFacts {
  /** Number of messages that may be unread, see {@link unreadCountStatement}; 0 for a status other than UNREAD. */
  unreadCount: number;
  /** Deleted mailboxes of the organization that may have had items of the status; empty for a target and for a customer. */
  deletedMailboxes: readonly string[];
}

export const noFacts: MailboxFacts = { unreadCount: 0, deletedMailboxes: [] };

/** The most deleted mailboxes that are searched; the most recently deleted ones come first. */
const maxDeletedMailboxes = 10_000;

/** Reads the facts for a page of the filter's status. */
export async function readMailboxFacts(snapshot: Queries, filter: EventFilter): Promise<MailboxFacts> {
  const { orgId, status, targetId, customerUid } = filter;
  if (status === "UNREAD") {
    const { rows } = await unreadCountStatement(filter).execute(snapshot);
    return { ...noFacts, unreadCount: rows[0]!.count };
  }
  const isKept = status === "ACKNOWLEDGED" || status === "DEAD" || status === "EXPIRED";
  if (targetId !== undefined || customerUid !== undefined || !isKept) return noFacts;
  const { rows } = await sql<{ id: string }>`
    select a.object_id as id
    from audit_log a
    where a.org_id = ${orgId}
      and a.action = 'target.deleted'
      and is_pulled(kind_number(a.before ->> 'kind'))
    order by a.id desc
    limit ${maxDeletedMailboxes}
  `.execute(snapshot);
  return { ...noFacts, deletedMailboxes: rows.map(({ id }) => id) };
}

/**
 * The page of a mailbox status. Indexes have messages in the order of acceptance, which differs slightly from the order of
 * ids, so messages that are not closed are sorted: claimed messages are few, and unread ones are sorted only up to a limit
 * (`unreadCount`).
 */
export function mailboxPage(
  filter: EventFilter,
  status: MailboxStatus,
  { unreadCount, deletedMailboxes }: MailboxFacts,
): IdStatement {
  const every = everyMailbox(filter, deletedMailboxes);
  switch (status) {
    case "UNREAD":
      return unreadCount > maxSortedMessages ? walkedUnread(filter) : sortedUnread(filter);
    case "CLAIMED":
      return sorted(filter, ofStatus(filter, status, sql`m.state = 2`));
    case "DEAD": {
      // A message in state 2 (claimed) is dead only if its lease has lapsed. Few are, because the next sweep ends them.
      const lapsed = sql`m.state = 2 and m.claimable_at <= ${databaseNowMs}`;
      const ended = firstOf(filter, every, closed(filter, sql`c.dead`));
      return sorted(filter, sql`${ofStatus(filter, status, lapsed)} union all ${ended}`);
    }
    case "ACKNOWLEDGED":
      return firstOfEach(filter, every, closed(filter, sql`not c.dead`));
    case "EXPIRED":
      return firstOfEach(
        filter,
        every,
        accepted(
          filter,
          sql`e.id < ${expiredBefore(filter.mailboxRetentionMs)} and is_pulled(e.kind) and not exists (select ${settlementOf()})`,
        ),
      );
  }
}

/** Unread messages in order. Each half is read from its own partial index. */
function sortedUnread(filter: EventFilter): IdStatement {
  const half = (state: RawBuilder<unknown>) => ofStatus(filter, "UNREAD", state);
  return sorted(filter, sql`${half(sql`m.state = 1`)} union all ${half(sql`m.state <> 1`)}`);
}

/**
 * Unread messages in each bucket that has mailboxes of the filter, from the primary key of `messages`, which has those of the
 * bucket in order. Reading it for each mailbox would read the messages of all others in the bucket again.
 */
function walkedUnread(filter: EventFilter): IdStatement {
  const buckets = sql`(
    select distinct get_byte(uuid_send(t.id), 15) as bucket
    from targets t
    where ${inScope(filter)}
      and is_pulled(kind_number(t.kind))
  )`;
  const unread = sql`
    select m.id
    from messages m
    where m.bucket = t.bucket
      ${filter.targetId === undefined ? sql`` : sql`and m.mailbox_id = ${filter.targetId}`}
      and m.id >= ${expiredBefore(filter.mailboxRetentionMs)}
      and (
        select message_status(m.state, m.claimable_at, m.claim_count, t.max_claims, ${databaseNowMs})
        from targets t
        where t.id = m.mailbox_id
          and ${inScope(filter)}
      ) = 'UNREAD'
      ${inRange(filter, sql`m.id`)}
    ${ordered(filter, sql`m.id`)}
  `;
  return firstOfEach(filter, buckets, unread);
}

/** Events accepted for the target `t`, in the order of the filter. */
export function accepted(
  filter: EventFilter,
  condition: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> {
  return sql`
    select e.id
    from events e
    where e.bucket = get_byte(uuid_send(t.id), 15)
      and e.target_id = t.id
      and ${condition}
      ${inRange(filter, sql`e.id`)}
    ${ordered(filter, sql`e.id`)}
  `;
}

/** Closed messages of the mailbox `t` that have not expired, in the order of the filter. */
function closed(filter: EventFilter, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select c.id
    from closed_messages c
    where c.bucket = get_byte(uuid_send(t.id), 15)
      and c.mailbox_id = t.id
      and ${condition}
      and c.id >= ${expiredBefore(filter.mailboxRetentionMs)}
      ${inRange(filter, sql`c.id`)}
    ${ordered(filter, sql`c.id`)}
  `;
}

/** Merges the first events of each target (see {@link firstOf}) into a page. */
export function firstOfEach(
  filter: EventFilter,
  targets: RawBuilder<unknown>,
  first: RawBuilder<unknown>,
): IdStatement {
  return sql`
    ${firstOf(filter, targets, first)}
    ${pageBy(filter, sql`first.id`)}
  `;
}

/** The first events of each target; `first` selects the events of the target `t` in the order of the filter. */
function firstOf(
  filter: EventFilter,
  targets: RawBuilder<unknown>,
  first: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select first.id
    from ${targets} t
    cross join lateral (${first} limit ${reach(filter)}) first
  `;
}

function sorted(filter: EventFilter, ids: RawBuilder<unknown>): IdStatement {
  return sql`
    select m.id
    from (${ids}) m
    ${pageBy(filter, sql`m.id`)}
  `;
}

function ofStatus(
  filter: EventFilter,
  status: MailboxStatus,
  state: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select l.id
    from (${liveMessages(filter, state)}) l
    where l.status = ${status}
      ${inRange(filter, sql`l.id`)}
  `;
}

function liveMessages(filter: EventFilter, state: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select
      m.id,
      message_status(m.state, m.claimable_at, m.claim_count, t.max_claims, ${databaseNowMs}) as status
    from targets t
    join messages m on m.bucket = get_byte(uuid_send(t.id), 15) and m.mailbox_id = t.id
    where ${inScope(filter)}
      and is_pulled(kind_number(t.kind))
      and ${state}
      and m.id >= ${expiredBefore(filter.mailboxRetentionMs)}
  `;
}

function mailboxes(filter: EventFilter): RawBuilder<unknown> {
  const { targetId } = filter;
  // A deleted mailbox, too.
  if (targetId !== undefined) return sql`(select ${targetId}::uuid as id)`;
  return sql`(select t.id from targets t where ${inScope(filter)} and is_pulled(kind_number(t.kind)))`;
}

/** {@link mailboxes} and the deleted mailboxes. */
function everyMailbox(filter: EventFilter, deleted: readonly string[]): RawBuilder<unknown> {
  if (deleted.length === 0) return mailboxes(filter);
  return sql`(
    select m.id
    from ${mailboxes(filter)} m
    union all
    select g.id
    from unnest(${deleted}::uuid[]) as g (id)
  )`;
}
