import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { repeatWhileFull } from "../../runtime/repeatWhileFull.ts";

const messagesPerCall = 1_000;
const rowsPerStatement = 10_000;
/** Minutes for which the ledger keeps one row per minute; older minutes are added up. */
const minutesKept = 60;

/**
 * Removes messages past retention from the hot table. Such messages read as EXPIRED even before they are removed. Each
 * transaction is bounded, so that it locks few rows. @returns how many were removed.
 */
export function sweepExpiredMessages(pool: pg.Pool, retentionMs: number): Promise<number> {
  // A call that removed the maximum of a bucket may have left more messages there.
  return repeatWhileFull(messagesPerCall, async () => {
    const rows = await callFunction(pool, "sweep_messages", {
      p_retention_ms: retentionMs,
      p_limit: messagesPerCall,
    });
    return rows[0]!.sweep_messages!;
  });
}

/** Deletes the stored answers of Claim-Ids whose leases have ended. @returns how many were deleted. */
export async function sweepClaimIds(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query({
    name: "sweep_claim_ids",
    text: `delete from message_claims
           where (bucket, mailbox_id, key_id, claim_digest) in (
             select bucket, mailbox_id, key_id, claim_digest
             from message_claims
             where expires_at < extract(epoch from statement_timestamp()) * 1000
             order by expires_at
             limit $1
             for update skip locked
           )`,
    values: [rowsPerStatement],
  });
  return rowCount ?? 0;
}

/**
 * Folds the ledger of mailboxes into rows per minute, and rows older than an hour into one sum. Also adds the numbers of accepted
 * and acknowledged messages to the activity of targets. @returns how many rows were folded.
 */
export async function foldMailboxActivity(pool: pg.Pool): Promise<number> {
  const total = await repeatWhileFull(rowsPerStatement, async () => {
    const { rows } = await pool.query<{ folded: number }>({
      name: "fold_mailbox_activity",
      text: "select fold_mailbox_activity($1) as folded",
      values: [rowsPerStatement],
    });
    return rows[0]!.folded;
  });
  return total + (await foldMinutes(pool));
}

async function foldMinutes(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ folded: number }>({
    name: "fold_mailbox_minutes",
    text: "select fold_mailbox_minutes($1, $2) as folded",
    values: [minutesKept, rowsPerStatement],
  });
  return rows[0]!.folded;
}

/** Removes the ledger rows of deleted mailboxes. @returns how many rows were removed. */
export async function forgetDeletedMailboxes(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query({
    name: "forget_deleted_mailboxes",
    text: `delete from mailbox_minutes n
           where n.minute = 0
             and not exists (select from targets t where t.id = n.mailbox_id)`,
  });
  return rowCount ?? 0;
}
