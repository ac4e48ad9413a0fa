import type { Log } from "../../telemetry/log.ts";
import type { ApiError } from "./errors.ts";

/** A request that was answered with 5xx. */
interface FailedRequest {
  requestId: string;
  /** The error that was thrown, and the answer made of it. */
  error: Error;
  answer: ApiError;
}

/**
 * Logs why a request was answered with 5xx; other statuses are not logged here. An `ApiError` without a cause is an expected
 * refusal, such as 503 while live billing is disabled or 501 for a transfer coding. Every client can provoke one, so that
 * it is not logged at the level of faults, which wake people.
 */
export function logFailure(log: Log, { requestId, error, answer }: FailedRequest): void {
  const { status, message, cause } = answer;
  if (status < 500) return;
  if (error === answer && cause === undefined) {
    log.refusal(requestId, status, message);
    return;
  }
  log.failure(requestId, status, error);
}
