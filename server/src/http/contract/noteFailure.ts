import type { Log } from "../../telemetry/log.ts";
import type { ApiError } from "./errors.ts";

/** A request that was answered with 5xx. */
interface FailedRequest {
  requestId: string;
  /** What was thrown, and what its caller is told. */
  error: Error;
  answer: ApiError;
}

/**
 * Notes why a request was answered with 5xx; nothing for another status. An `ApiError` without a cause is a refusal that
 * was foreseen, such as 503 while live billing is disabled or 501 for a transfer coding: anybody can ask for one, so that
 * it is no line at the level of faults, which wake people.
 */
export function noteFailure(log: Log, { requestId, error, answer }: FailedRequest): void {
  const { status, message, cause } = answer;
  if (status < 500) return;
  if (error === answer && cause === undefined) {
    log.refusal(requestId, status, message);
    return;
  }
  log.failure(requestId, status, error);
}
