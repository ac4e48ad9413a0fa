import { type RawBuilder, sql } from "kysely";
import type { EventStatus } from "../items/eventStatuses.ts";
import type { EventFilter } from "./eventFilter.ts";
import { closedMessageOf, databaseNowMs, type IdBounds, settlementOf, statusOf } from "./statuses.ts";

/**
 * Whether the row `e` of `events` has a status, as SQL: what `statusOf` says, with no more looked up than this status takes.
 * Where a page is filled by walking, it is asked of thousands. @param bounds Of the ids of these.
 */
export function hasStatus(
  { mailboxRetentionMs }: EventFilter,
  status: EventStatus,
  bounds: IdBounds,
): RawBuilder<unknown> {
  const settlement = sql`select ${settlementOf(bounds)}`;
  const closed = sql`select ${closedMessageOf(bounds)}`;
  const notSettled = sql`not exists (${settlement})`;
  const expiredBefore = sql`first_id_at(${databaseNowMs} - ${mailboxRetentionMs}::bigint)`;
  const isLive = sql`is_pulled(e.kind) and e.id >= ${expiredBefore} and ${notSettled}`;
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
      return sql`is_pulled(e.kind) and e.id < ${expiredBefore} and ${notSettled}`;
    case "UNREAD":
    case "CLAIMED":
      return sql`${isLive} and ${messageStatus} = ${status}`;
    case "ACKNOWLEDGED":
      return sql`${isLive} and exists (${closed} and not c.dead)`;
    case "DEAD":
      return sql`${isLive} and (exists (${closed} and c.dead) or ${messageStatus} = ${status})`;
  }
}

/** A delivery that was tried has a row of its own. */
const retried = sql`exists (
  select
  from deliveries d
  join targets t on t.id = d.target_id
  where d.bucket = e.bucket
    and d.id = e.id
    and d.attempts > 0
)`;

/** Status of a message in its mailbox; null for a closed message. */
const messageStatus = sql`(
  select message_status(m.state, m.claimable_at, m.claim_count, t.max_claims, ${databaseNowMs})
  from messages m
  join targets t on t.id = m.mailbox_id
  where m.bucket = e.bucket
    and m.id = e.id
)`;
