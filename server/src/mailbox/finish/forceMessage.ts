import type pg from "pg";
import { emailOf } from "../../audit/origin.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import type { Parts } from "../../items/parts.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import { bucketOf, isId, newId } from "../../postgres/ids.ts";

export interface ForceDeps extends Pick<Parts, "pool" | "nowMs" | "onMailboxItems"> {
  retentionMs: number;
}

/** An intervention: a user changes a message, even while a consumer has claimed it. */
export interface ForcedChange {
  orgId: string;
  userId: string;
  mailboxId: string;
  messageId: string;
  /** The reason for which the message becomes dead; null takes it from its consumer and makes it claimable. */
  reason: string | null;
}

/** The most retries while another transaction has the message locked. */
const maxTries = 20;

export type ForceOutcome = "done" | "not_found" | "unclaimed" | "ended" | "expired" | "user_deleted" | "busy";

/** Takes a claimed message from its consumer, or makes a message dead, and records the user who did it. */
export async function forceMessage(deps: ForceDeps, change: ForcedChange): Promise<ForceOutcome> {
  const { mailboxId, messageId, orgId, userId, reason } = change;
  if (!isId(mailboxId) || !isId(messageId)) return "not_found";
  const email = await emailOf(deps.pool, userId);
  if (email === null) return "user_deleted";
  for (let tries = 1; ; tries++) {
    const rows = await withPartitions(deps.pool, () =>
      callFunction(deps.pool, "force_message", {
        p_retention_ms: deps.retentionMs,
        p_org: orgId,
        p_mailbox: mailboxId,
        p_id: messageId,
        p_reason: reason,
        p_user: userId,
        p_email: email,
        p_intervention: newId(bucketOf(messageId), deps.nowMs()),
      }),
    );
    const outcome = outcomes[rows[0]!.force_message as keyof typeof outcomes];
    if (outcome === "busy" && tries < maxTries) continue;
    if (outcome === "done") deps.onMailboxItems([mailboxId]);
    return outcome;
  }
}

/** The codes of `force_message`. */
const outcomes = { k: "done", n: "not_found", c: "unclaimed", e: "ended", x: "expired", b: "busy" } as const;

/** Deletes the records of interventions in messages whose items are past retention. @returns how many. */
export async function forgetInterventions(pool: pg.Pool, firstKeptId: string): Promise<number> {
  const { rowCount } = await pool.query({
    name: "forget_interventions",
    text: `delete from message_interventions
           where message_id < $1`,
    values: [firstKeptId],
  });
  return rowCount ?? 0;
}
