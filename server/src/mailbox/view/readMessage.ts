import type { Static } from "typebox";
import { isId } from "../../postgres/ids.ts";
import { findMailbox, type MailboxMoment, type ReadDeps } from "../message/findMailbox.ts";
import { type Message, messageTimes, withPayload } from "../message/message.ts";
import type { Interventions } from "../message/schemas.ts";
import type { MailboxStatus } from "../../items/eventStatuses.ts";

/** A message's row joined with its item's; `status` is null for a message in neither `messages` nor `closed_messages`. */
export interface MessageRow {
  id: string;
  mailbox_id: string;
  status: MailboxStatus | null;
  event_type: string | null;
  correlation_id: string | null;
  ordering_key: string | null;
  claimed_by: string | null;
  claimable_at: number | null;
  claim_count: number | null;
  closed_at: number | null;
  dead_reason: string | null;
}

/**
 * The columns of a {@link MessageRow}, from rows of `events e`, `messages m` and `closed_messages c`. $1 is the current time in
 * Unix milliseconds, $2 the mailbox's limit of claims of a message.
 */
export const messageColumns = `
  e.id,
  e.target_id as mailbox_id,
  coalesce(
    case when c.dead then 'DEAD' when not c.dead then 'ACKNOWLEDGED' end,
    case
      when m.state is not null then message_status(m.state, m.claimable_at, m.claim_count, $2::integer, $1)
    end
  ) as status,
  e.event_type,
  e.correlation_id,
  e.ordering_key,
  coalesce(m.claimed_by, c.claimed_by) as claimed_by,
  m.claimable_at,
  coalesce(m.claim_count, c.claim_count) as claim_count,
  c.closed_at,
  coalesce(c.reason, 'claimed ' || m.claim_count || ' times and never acknowledged') as dead_reason`;

/** The message for a row, with its status at the moment when the row was read. */
export function messageOf(row: MessageRow, mailbox: MailboxMoment): Message {
  const times = messageTimes(row.id, mailbox.retentionMs);
  const status = row.status === null || row.id < mailbox.expiredBefore ? "EXPIRED" : row.status;
  const isClaimed = status === "CLAIMED";
  return {
    id: row.id,
    mailbox_id: row.mailbox_id,
    status,
    event_type: row.event_type,
    correlation_id: row.correlation_id,
    ordering_key: row.ordering_key,
    claimed_by: isClaimed || status === "ACKNOWLEDGED" ? row.claimed_by : null,
    claim_expires_at: isClaimed ? Math.min(Math.floor(row.claimable_at! / 1000), times.expires_at) : null,
    claim_count: row.claim_count ?? 0,
    created_at: times.created_at,
    expires_at: times.expires_at,
    acknowledged_at: status === "ACKNOWLEDGED" ? Math.floor(row.closed_at! / 1000) : null,
    dead_reason: status === "DEAD" ? row.dead_reason : null,
  };
}

const maxInterventionsShown = 100;

/**
 * Reads one message with its payload and interventions, as JSON text. The payload of an expired or erased message is null.
 * Returns undefined when no mailbox of the organization has the message.
 */
export async function readMessage(deps: ReadDeps, orgId: string, id: string): Promise<string | undefined> {
  if (!isId(id)) return undefined;
  const { rows: items } = await deps.pool.query<{ mailbox_id: string; publication_id: string | null }>({
    name: "find_message",
    text: `select e.target_id as mailbox_id, e.publication_id
           from events e
           where e.org_id = $1
             and e.id = $2
             and is_pulled(e.kind)`,
    values: [orgId, id],
  });
  const mailbox = items[0] && (await findMailbox(deps, orgId, items[0].mailbox_id));
  if (mailbox === undefined) return undefined;
  const { rows } = await deps.pool.query<
    MessageRow & {
      payload: string | null;
      interventions: Static<typeof Interventions> | null;
      is_settled: boolean;
    }
  >({
    name: "read_message",
    text: `select ${messageColumns}, nullif(convert_from(coalesce(p.payload, e.payload), 'UTF8'), '') as payload, (
             select json_agg(i)
             from (
               select n.action, n.email as by, n.at_ms / 1000 as at, n.reason,
                 replace(n.claimed_by::text, '-', '') as claimed_by
               from message_interventions n
               where n.bucket = $3
                 and n.message_id = $5
               order by n.id
               limit ${maxInterventionsShown}
             ) i
           ) as interventions, exists (
             select
             from settlements s
             where s.bucket = $3
               and s.event_id = $5
           ) as is_settled
           from events e
           left join publications p
             on p.bucket = get_byte(uuid_send($6), 15)
             and p.id = $6
           left join messages m on m.bucket = $3 and m.id = $5
           left join closed_messages c on c.bucket = $3 and c.mailbox_id = $4 and c.id = $5
           where e.bucket = $3
             and e.target_id = $4
             and e.id = $5`,
    values: [mailbox.nowMs, mailbox.maxClaims, mailbox.bucket, mailbox.id, id, items[0]!.publication_id],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  // A canceled or filtered item belongs to no mailbox. An erased one is shown, without its payload.
  if (row.is_settled && row.payload !== null) return undefined;
  const message = { ...messageOf(row, mailbox), interventions: row.interventions ?? [] };
  return withPayload(message, message.status === "EXPIRED" ? "null" : (row.payload ?? "null"));
}
