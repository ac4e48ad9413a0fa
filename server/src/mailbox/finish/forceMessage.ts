import type pg from "pg";
import { emailOf } from "../../audit/emailOf.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import { bucketOf, isId, newId } from "../../postgres/ids.ts";
import { ApiError, notFound, unauthorized } from "../../http/contract/errors.ts";

export interface ForceDeps {
  pool: pg.Pool;
  retentionMs: number;
  /** Unix milliseconds. */
  nowMs: () => number;
  /** Tells those who wait for messages, and who watches, that these mailboxes have changed. */
  onMailboxItems: (mailboxIds: string[]) => void;
}

/** What a person does to a message that some consumer has, or may get. */
export interface ForcedChange {
  orgId: string;
  userId: string;
  mailboxId: string;
  messageId: string;
  /** Makes the message dead, for this reason; null takes it from its consumer and makes it claimable. */
  reason: string | null;
}

/** A message that another transaction holds for a moment is asked for again so often. */
const maxTries = 20;

/**
 * Takes a claimed message from its consumer, or makes a message dead, and records who did it.
 * @throws {ApiError} 404 when the organization has no such message in this mailbox, 409 when it has ended or expired, or
 * is to be taken from nobody, 401 when its user is gone, 503 when it does not hold still.
 */
export async function forceMessage(deps: ForceDeps, change: ForcedChange): Promise<void> {
  const { mailboxId, messageId, orgId, userId, reason } = change;
  if (!isId(mailboxId) || !isId(messageId)) throw notFound();
  // Who is gone by now has nothing to decide.
  const email = await emailOf(deps.pool, userId);
  if (email === null) throw unauthorized();
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
    const code = rows[0]!.force_message as Code;
    if (code === "b" && tries < maxTries) continue;
    if (code === "k") return deps.onMailboxItems([mailboxId]);
    throw refusals[code]();
  }
}

type Code = "k" | "n" | "c" | "e" | "x" | "b";

const refusals = {
  n: notFound,
  c: () => new ApiError(409, "nobody has claimed the message", { code: "message_unclaimed" }),
  e: () => new ApiError(409, "the message has ended already", { code: "message_ended" }),
  x: () => new ApiError(409, "the message has expired", { code: "message_ended" }),
  b: () =>
    new ApiError(503, "the message is being changed over and over: try again", { retryAfterSeconds: 1 }),
};

/** Forgets who stepped in at messages whose items are past retention. @returns how many records went. */
export async function forgetInterventions(pool: pg.Pool, firstKeptId: string): Promise<number> {
  const { rowCount } = await pool.query({
    name: "forget_interventions",
    text: `delete from message_interventions
           where message_id < $1`,
    values: [firstKeptId],
  });
  return rowCount ?? 0;
}
