import type pg from "pg";
import { idArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import type { RowOf } from "../../postgres/hot/functionCall.ts";
import { bucketOf, unknownId } from "../../postgres/ids.ts";

/** A followed task that is due for a poll, leased by this node. */
export interface Poll {
  eventId: string;
  targetId: string;
  /** Number of polls since the task last changed; `missing` is how many consecutive ones found no task. */
  polls: number;
  missing: number;
  deadlineAtMs: number;
  targetVersion: number;
  /** Null if the handoff itself is past its retention. */
  taskId: string | null;
  state: string | null;
  fingerprint: string | null;
  followError: string | null;
  /** When the last change was recorded, in Unix milliseconds; null if the handoff itself is past its retention. */
  changedAtMs: number | null;
  leaseToken: number;
}

/** A node's position in its circle over the targets with followed tasks. */
export interface PollCursor {
  bucket: number;
  targetId: string;
}

export const firstPollCursor: PollCursor = { bucket: -1, targetId: unknownId };

const maxTargetsPerClaim = 200;

export interface PollClaim {
  leaseMs: number;
  leaseToken: number;
  cursor: PollCursor;
  skip: readonly string[];
  limit: number;
  perTarget: number;
}

/** Leases due polls to the caller, a few of each target, starting at `cursor`. */
export async function claimPolls(
  pool: pg.Pool,
  claim: PollClaim,
): Promise<{ polls: Poll[]; cursor: PollCursor; isCircleClosed: boolean }> {
  const rows = await callFunction(pool, "claim_handoff_polls", {
    p_lease_ms: claim.leaseMs,
    p_lease_token: claim.leaseToken,
    p_bucket: claim.cursor.bucket,
    p_target: claim.cursor.targetId,
    p_skip: idArray(claim.skip),
    p_limit: claim.limit,
    p_per_target: claim.perTarget,
    p_max_targets: maxTargetsPerClaim,
  });
  const next = rows.pop()!;
  return {
    polls: rows.map((row) => toPoll(row, claim.leaseToken)),
    cursor: { bucket: bucketOf(next.target_id!), targetId: next.target_id! },
    isCircleClosed: next.is_circle_closed!,
  };
}

const nowMs = "(extract(epoch from statement_timestamp()) * 1000)::bigint";

/**
 * Schedules the next poll of an unchanged task. If an earlier poll was requested while this one ran (`due_at` is 0), the task is
 * due at once; see {@link hastenPoll}. Citus refuses the time in a `case`.
 */
export async function postponePoll(
  pool: pg.Pool,
  poll: Pick<Poll, "eventId" | "leaseToken">,
  next: { polls: number; missing: number; inMs: number },
): Promise<void> {
  await pool.query({
    name: "postpone_poll",
    text: `update handoff_polls
           set polls = $4,
             missing = $5,
             due_at = least(due_at, 1) * (${nowMs} + $6::bigint),
             lease_until = null,
             lease_token = null
           where bucket = $1
             and event_id = $2
             and lease_token = $3`,
    values: [bucketOf(poll.eventId), poll.eventId, poll.leaseToken, next.polls, next.missing, next.inMs],
  });
}

/**
 * Leases a task to a request that answers it, also while a poll has the lease. The tokens of answers are negative.
 * @returns false while another request answers the task, or if the task has just ended.
 */
export async function leaseForAnswer(
  pool: pg.Pool,
  { eventId, leaseToken, leaseMs }: Pick<Poll, "eventId" | "leaseToken"> & { leaseMs: number },
): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "lease_for_answer",
    text: `update handoff_polls
           set lease_until = ${nowMs} + $4::bigint,
             lease_token = $3
           where bucket = $1
             and event_id = $2
             and (lease_token is null or lease_token > 0 or lease_until < ${nowMs})`,
    values: [bucketOf(eventId), eventId, leaseToken, leaseMs],
  });
  return rowCount === 1;
}

/** Records why a task cannot be followed at present; null if it can be followed again. */
export async function noteFollowError(pool: pg.Pool, eventId: string, error: string | null): Promise<void> {
  await pool.query({
    name: "note_follow_error",
    text: `update handoffs
           set follow_error = $3
           where bucket = $1
             and event_id = $2
             and outcome is null`,
    values: [bucketOf(eventId), eventId, error],
  });
}

/** Releases polls that were not made. */
export async function releasePolls(pool: pg.Pool, polls: readonly Poll[]): Promise<void> {
  for (const poll of polls) await postponePoll(pool, poll, { ...poll, inMs: 0 });
}

/** Stops following a task whose handoff is past its retention. */
export async function dropPoll(pool: pg.Pool, eventId: string): Promise<void> {
  await pool.query({
    name: "drop_poll",
    text: "delete from handoff_polls where bucket = $1 and event_id = $2",
    values: [bucketOf(eventId), eventId],
  });
}

/**
 * Makes a task due for a poll now, before all other tasks of its agent: `due_at` is set to 0. A claim sets it to its own time,
 * so that a change that is reported while the poll runs causes another poll.
 * @returns whether the task is followed and was not reported before.
 */
export async function hastenPoll(pool: pg.Pool, eventId: string): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "hasten_poll",
    text: `update handoff_polls
           set due_at = 0
           where bucket = $1
             and event_id = $2
             and due_at > 0`,
    values: [bucketOf(eventId), eventId],
  });
  return rowCount === 1;
}

/** Makes polls due again whose node died or exceeded its lease. @returns the number of these polls. */
export async function sweepPolls(pool: pg.Pool): Promise<number> {
  const rows = await callFunction(pool, "sweep_handoff_polls", {});
  return rows[0]!.sweep_handoff_polls!;
}

function toPoll(row: RowOf<"claim_handoff_polls">, leaseToken: number): Poll {
  return {
    eventId: row.event_id!,
    targetId: row.target_id!,
    polls: row.polls!,
    missing: row.missing!,
    deadlineAtMs: row.deadline_at!,
    targetVersion: row.target_version!,
    taskId: row.task_id,
    state: row.state,
    fingerprint: row.fingerprint,
    followError: row.follow_error,
    changedAtMs: row.changed_at,
    leaseToken,
  };
}
