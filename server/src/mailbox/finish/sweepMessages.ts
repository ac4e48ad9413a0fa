import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";

const messagesPerCall = 1_000;
const rowsPerStatement = 10_000;
/** Minutes that are kept apart in the ledger; older ones are summed up. */
const minutesKept = 60;

/**
 * Removes messages past retention from the hot table; they read as EXPIRED without it. In bounded transactions, so
 * that it never stands in anybody's way. @returns how many were removed.
 */
export async function sweepExpiredMessages(pool: pg.Pool, retentionMs: number): Promise<number> {
  let total = 0;
  for (;;) {
    const rows = await callFunction(pool, "sweep_messages", {
      p_retention_ms: retentionMs,
      p_limit: messagesPerCall,
    });
    const swept = rows[0]!.sweep_messages!;
    total += swept;
    // A full bucket may hold more.
    if (swept < messagesPerCall) return total;
  }
}

/** Forgets what Claim-Ids were answered once their leases are over. @returns how many were forgotten. */
export async function sweepClaimIds(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query({
    name: "sweep_claim_ids",
    text: `delete from message_claims
           where (bucket, mailbox_id, key_id, claim_digest) in (
             select bucket, mailbox_id, key_id, claim_digest
             from message_claims
             where expires_at < extract(epoch from clock_timestamp()) * 1000
             order by expires_at
             limit $1
             for update skip locked
           )`,
    values: [rowsPerStatement],
  });
  return rowCount ?? 0;
}

/**
 * Folds the ledger of mailboxes into minutes, and minutes past their hour into one sum; what it says of messages accepted
 * and acknowledged goes on to the activity of targets. @returns how many rows were folded.
 */
export async function foldMailboxActivity(pool: pg.Pool): Promise<number> {
  let total = 0;
  for (;;) {
    const { rows } = await pool.query<{ folded: number }>({
      name: "fold_mailbox_activity",
      text: `with gone as (
               delete from mailbox_activity a
               where a.ctid = any (array(
                 select ctid
                 from mailbox_activity
                 limit $1
                 for update skip locked
               ))
               returning a.bucket, a.minute, a.mailbox_id, a.accepted, a.acknowledged, a.held
             ),
             seen as (
               insert into target_activity (bucket, accepted, delivered, target_id, org_id, at_ms)
               select g.bucket, sum(g.accepted), sum(g.acknowledged), g.mailbox_id, t.org_id, g.minute::bigint * 60000
               from gone g
               join targets t on t.id = g.mailbox_id
               where g.accepted > 0
                 or g.acknowledged > 0
               group by g.bucket, g.minute, g.mailbox_id, t.org_id
             ),
             folded as (
               insert into mailbox_minutes as n (bucket, minute, mailbox_id, accepted, acknowledged, held)
               select g.bucket, g.minute, g.mailbox_id, sum(g.accepted), sum(g.acknowledged), sum(g.held)
               from gone g
               group by g.bucket, g.minute, g.mailbox_id
               order by g.bucket, g.mailbox_id, g.minute
               on conflict (bucket, mailbox_id, minute) do update
               set accepted = n.accepted + excluded.accepted,
                 acknowledged = n.acknowledged + excluded.acknowledged,
                 held = n.held + excluded.held
             )
             select count(*) as folded from gone`,
      values: [rowsPerStatement],
    });
    const { folded } = rows[0]!;
    total += folded;
    if (folded < rowsPerStatement) break;
  }
  return total + (await foldMinutes(pool));
}

async function foldMinutes(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ folded: number }>({
    name: "fold_mailbox_minutes",
    text: `with gone as (
             delete from mailbox_minutes n
             where n.ctid = any (array(
               select ctid
               from mailbox_minutes
               where minute > 0
                 and minute < extract(epoch from clock_timestamp()) / 60 - $1
               limit $2
               for update skip locked
             ))
             returning n.bucket, n.mailbox_id, n.held
           ),
           folded as (
             insert into mailbox_minutes as n (bucket, minute, mailbox_id, accepted, acknowledged, held)
             select g.bucket, 0, g.mailbox_id, 0, 0, sum(g.held)
             from gone g
             where exists (select from targets t where t.id = g.mailbox_id)
             group by g.bucket, g.mailbox_id
             order by g.bucket, g.mailbox_id
             on conflict (bucket, mailbox_id, minute) do update
             set held = n.held + excluded.held
           )
           select count(*) as folded from gone`,
    values: [minutesKept, rowsPerStatement],
  });
  return rows[0]!.folded;
}

/** Ends the ledger of deleted mailboxes. @returns how many rows were removed. */
export async function forgetDeletedMailboxes(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query({
    name: "forget_deleted_mailboxes",
    text: `delete from mailbox_minutes n
           where n.minute = 0
             and not exists (select from targets t where t.id = n.mailbox_id)`,
  });
  return rowCount ?? 0;
}
