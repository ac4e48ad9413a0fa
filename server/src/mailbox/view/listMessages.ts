import { firstIdAt, idTimeMs, isId, unknownId } from "../../postgres/ids.ts";
import type { MailboxMoment, ReadDeps } from "../message/findMailbox.ts";
import type { Message } from "../message/message.ts";
import type { MailboxStatus } from "../../items/eventStatuses.ts";
import { messageColumns, messageOf, type MessageRow } from "./readMessage.ts";

export interface ListRequest {
  /** Undefined lists messages that are neither acknowledged nor dead nor expired. */
  status: MailboxStatus | undefined;
  limit: number;
  after: string | undefined;
}

/** Whether a page reads and sorts all claimed, released and blocked messages. Other pages are read in order from an index. */
export function isSorted(status: MailboxStatus | undefined): boolean {
  return status !== "ACKNOWLEDGED" && status !== "EXPIRED";
}

/** Lists a page of a mailbox's messages in one state, oldest first; undefined when the mailbox has no message `after`. */
export async function listMessages(
  deps: ReadDeps,
  mailbox: MailboxMoment,
  request: ListRequest,
): Promise<Message[] | undefined> {
  const name = request.status ?? "ACTIVE";
  const page = pages[name];
  const after =
    request.after === undefined ? page.first : await sortKeyAfter(deps, mailbox, request.after, page.order);
  if (after === undefined) return undefined;
  const { rows } = await deps.pool.query<MessageRow>({
    name: `list_messages_${name.toLowerCase()}`,
    text: `with page as materialized (${page.text})
           select ${messageColumns}
           from page p
           ${lookUps(name === "EXPIRED" ? "< $5" : ">= $5")}
           order by p.sort_key, p.id`,
    values: [
      mailbox.nowMs,
      mailbox.maxClaims,
      mailbox.bucket,
      mailbox.id,
      mailbox.expiredBefore,
      after,
      request.limit,
      // Two messages may have the same position, so the page also needs an id to start after.
      ...(page.order === "position" ? [request.after ?? unknownId] : []),
    ],
  });
  return rows.map((row) => messageOf(row, mailbox));
}

/**
 * Lateral subqueries with a limit, because the planner would turn joins into sequential scans of whole partitions. `days`
 * compares an id with the first id that has not expired, so that partitions on the other side of that id are pruned.
 */
const lookUps = (days: "< $5" | ">= $5"): string => `
  cross join lateral (
    select e.id, e.target_id, e.event_type, e.correlation_id, e.ordering_key
    from events e
    where e.bucket = $3
      and e.target_id = $4
      and e.id = p.id
      and e.id ${days}
    limit 1
  ) e
  left join lateral (
    select m.state, m.claimable_at, m.claim_count, m.claimed_by
    from messages m
    where m.bucket = $3
      and m.id = p.id
    limit 1
  ) m on true
  left join lateral (
    select c.dead, c.claim_count, c.claimed_by, c.closed_at, c.reason
    from closed_messages c
    where c.bucket = $3
      and c.mailbox_id = $4
      and c.id = p.id
      and c.id ${days}
    limit 1
  ) c on true`;

interface Page {
  order: "position" | "id";
  first: number | string;
  /**
   * SQL that finds `id` and `sort_key` of the page's messages. $1 is the current time in Unix milliseconds, $2 the mailbox's
   * limit of claims, $3 the bucket, $4 the mailbox, $5 the first id that has not expired, $6 the sort_key after which the page
   * begins, $7 its length, and $8, for the order by position, the id after which it begins among messages of one position.
   */
  text: string;
}

/** Messages of a table that meet a condition, in the order of their positions. */
function inOrder(table: "messages" | "closed_messages", condition: string): string {
  return `(
    select m.id, m.position as sort_key
    from ${table} m
    where ${condition}
      and m.bucket = $3
      and m.mailbox_id = $4
      and m.id >= $5
      and (m.position, m.id) > ($6, $8)
    order by m.position, m.id
    limit $7
  )`;
}

const liveStatus = "message_status(m.state, m.claimable_at, m.claim_count, $2, $1)";

const ready = inOrder("messages", "m.state = 1");

function waiting(...statuses: MailboxStatus[]): string {
  return inOrder("messages", `m.state <> 1 and ${liveStatus} in ('${statuses.join("', '")}')`);
}

/** Messages claimed too often and not yet swept. Their last lease has lapsed, so that the index `messages_waiting` finds them. */
const lapsedDead = inOrder(
  "messages",
  `m.state <> 1 and m.claimable_at <= $1 and $2::integer is not null and ${liveStatus} = 'DEAD'`,
);

const dead = inOrder("closed_messages", "m.dead");

function merged(...parts: string[]): Page {
  return {
    order: "position",
    first: 0,
    text: `select id, sort_key from (${parts.join(" union all ")}) parts order by sort_key, id limit $7`,
  };
}

const pages: Record<MailboxStatus | "ACTIVE", Page> = {
  ACTIVE: merged(ready, waiting("UNREAD", "CLAIMED")),
  UNREAD: merged(ready, waiting("UNREAD")),
  CLAIMED: merged(waiting("CLAIMED")),
  DEAD: merged(dead, lapsedDead),
  ACKNOWLEDGED: {
    order: "id",
    first: unknownId,
    text: `
      select c.id, c.id as sort_key
      from closed_messages c
      where c.bucket = $3
        and c.mailbox_id = $4
        and not c.dead
        and c.id >= $5
        and c.id > $6
      order by c.id
      limit $7`,
  },
  EXPIRED: {
    order: "id",
    first: unknownId,
    text: `
      select e.id, e.id as sort_key
      from events e
      where e.bucket = $3
        and e.target_id = $4
        and e.id < $5
        and e.id > $6
        -- Canceled and filtered items were no messages any more when they would have expired.
        and (e.erasure_id is not null or not exists (
          select
          from settlements s
          where s.bucket = e.bucket
            and s.event_id = e.id
            and s.event_id < $5
        ))
      order by e.id
      limit $7`,
  },
};

/** The sort key of message `id`, after which a page begins; undefined when the mailbox never had such a message. */
async function sortKeyAfter(
  deps: ReadDeps,
  mailbox: MailboxMoment,
  id: string,
  order: Page["order"],
): Promise<number | string | undefined> {
  if (!isId(id)) return undefined;
  if (order === "id") return id;
  const { rows } = await deps.pool.query<{ position: number }>({
    name: "find_message_position",
    text: `select m.position
           from messages m
           where m.bucket = $1
             and m.mailbox_id = $2
             and m.id = $3
           union all
           select c.position
           from closed_messages c
           where c.bucket = $1
             and c.mailbox_id = $2
             and c.id = $3`,
    values: [mailbox.bucket, mailbox.id, id],
  });
  if (rows[0] !== undefined) return rows[0].position;
  // All messages before an expired message have expired, too.
  return id < mailbox.expiredBefore ? 0 : positionBefore(deps, mailbox, id);
}

/** How far back to search. The order of positions differs slightly from that of ids, because the database sets them later. */
const lateMs = 60_000;
/** The most canceled or erased messages that are skipped in the search for a message that has a position. */
const mostPassed = 1_000;

/**
 * A position before that of a message that was canceled or erased since the last page: the next page may repeat some messages,
 * but skips none. Undefined when the mailbox never had the message.
 */
async function positionBefore(
  deps: ReadDeps,
  mailbox: MailboxMoment,
  id: string,
): Promise<number | undefined> {
  const { rows } = await deps.pool.query<{ position: number }>({
    name: "find_position_before_message",
    text: `select coalesce(before.position, 0) as position
           from events gone
           left join lateral (
             select coalesce(m.position, c.position) as position
             from (
               select e.id
               from events e
               where e.bucket = $1
                 and e.target_id = $2
                 and e.id < $4
                 and e.id >= $5
               order by e.id desc
               limit ${mostPassed}
             ) e
             left join lateral (
               select m.position
               from messages m
               where m.bucket = $1
                 and m.id = e.id
               limit 1
             ) m on true
             left join lateral (
               select c.position
               from closed_messages c
               where c.bucket = $1
                 and c.mailbox_id = $2
                 and c.id = e.id
                 and c.id >= $5
               limit 1
             ) c on true
             where coalesce(m.position, c.position) is not null
             order by e.id desc
             limit 1
           ) before on true
           where gone.bucket = $1
             and gone.target_id = $2
             and gone.id = $3`,
    values: [mailbox.bucket, mailbox.id, id, firstIdAt(idTimeMs(id) - lateMs), mailbox.expiredBefore],
  });
  return rows[0]?.position;
}
