import { NotBegunError } from "../runtime/groupCommit.ts";
import { ClockApartError } from "./clock.ts";
import { isConnectionLost, isDatabaseAway, isPartitionMissing, isUnanswered } from "./pool.ts";

/** Text for each reason: in answers to callers, and in `/readyz` for operators. */
export const awayText = {
  "disk full": "the disk of the database is full",
  "read-only": "the database is read-only",
  unanswered: "the database does not answer in time",
  slow: "the database does not answer in time",
  "no partition": "the database has no partition for this day",
  "too few locks":
    "the database's lock table is full: max_locks_per_transaction is too small for the number of days that are kept",
  "clocks apart": "the clocks of the service and of its database disagree by more than an hour",
  away: "the service cannot reach its database",
};

/** Why the database accepts nothing, as far as the error shows. */
export type AwayReason = keyof typeof awayText;

/** Returns undefined when the error is not about the database's state. */
export function awayReason(error: unknown): AwayReason | undefined {
  if (error instanceof NotBegunError) return "slow";
  if (error instanceof ClockApartError) return "clocks apart";
  if (isPartitionMissing(error)) return "no partition";
  if (!isDatabaseAway(error)) return undefined;
  const { code, message } = error as Error & { code?: string };
  if (code === "53100" || noSpacePattern.test(message)) return "disk full";
  if (code === "25006") return "read-only";
  if (isLockTableFull({ code, message })) return "too few locks";
  if (isUnanswered(error)) return "unanswered";
  if (code === "57014" || code === "55P03" || /timeout/i.test(message)) return "slow";
  return "away";
}

/**
 * Whether a statement was sent and its answer never came, so that it may have been committed: the answer timed out, or the
 * connection was lost meanwhile. A connection attempt that failed has sent nothing.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (isUnanswered(error)) return true;
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as Error & { code?: string };
  return /^(ECONNRESET|EPIPE|ETIMEDOUT)$/.test(code) || isConnectionLost(error);
}

/** Whether PostgreSQL's lock table is full. Everything else in its shared memory is allocated at its start. */
export function isLockTableFull({ code, message }: { code?: string | undefined; message: string }): boolean {
  return code === "53200" && /shared memory/.test(message);
}

/** Whether an error says that a wait for the database has reached its time limit. */
export function isTooSlow(error: unknown): boolean {
  const reason = awayReason(error);
  return reason === "unanswered" || reason === "slow";
}

/** The operating system's messages for a full disk, in its own errors and in PostgreSQL's log. */
export const noSpacePattern = /no space left on device|ENOSPC|disk quota exceeded|EDQUOT|disk is full/i;

/** An error with the code of PostgreSQL's `disk_full`. @param text a sentence for the operator. */
export function diskFullError(text: string, cause?: unknown): Error {
  return Object.assign(new Error(text, { cause }), { code: "53100" });
}
