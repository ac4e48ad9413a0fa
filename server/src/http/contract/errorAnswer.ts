import type { FastifyError } from "fastify";
import { QueueFullError } from "../../runtime/groupCommit.ts";
import { awayReason, awayText, isOutcomeUnknown } from "../../postgres/awayReason.ts";
import { ApiError, notFound } from "./errors.ts";
import { describeValidation } from "./validation.ts";
import type { Log } from "../../telemetry/log.ts";

/**
 * The error answer for anything that was thrown while a request was handled. An unexpected error becomes a 500 that does not
 * reveal its cause.
 * @param missingFields the route's message for a body that lacks a required field.
 */
export function toApiError(error: FastifyError, missingFields?: string): ApiError {
  if (error instanceof ApiError) return error;
  if (error.validation) {
    return new ApiError(400, describeValidation(error, missingFields), { cause: error });
  }
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new ApiError(415, "the content type must be application/json", { cause: error });
    case "FST_ERR_BAD_URL":
      return new ApiError(400, "the path is not valid", { cause: error });
    case "FST_ERR_MAX_PARAM_LENGTH":
      return notFound();
  }
  if (error instanceof QueueFullError) {
    return new ApiError(503, "the service is overloaded: try again", { cause: error, retryAfterSeconds: 1 });
  }
  const reason = awayReason(error);
  if (reason !== undefined) {
    const isUnknown = isOutcomeUnknown(error);
    return new ApiError(503, `${awayText[reason]}${isUnknown ? maybeDone : ": try again"}`, {
      ...(isUnknown && { code: "outcome_unknown" }),
      cause: error,
      retryAfterSeconds: 2,
    });
  }
  if (isFrameworkRefusal(error)) {
    return new ApiError(error.statusCode, error.message, { cause: error });
  }
  return new ApiError(500, "internal error", { cause: error });
}

/** The outcome is unknown, so that a retry could do the work twice. */
const maybeDone =
  ", and the request may have had an effect: try again; send an item with the same Idempotency-Key";

/** Whether the framework itself refused the request. The message of another library's error could reveal internals. */
function isFrameworkRefusal(error: FastifyError): error is FastifyError & { statusCode: number } {
  const { code, statusCode } = error;
  return code?.startsWith("FST_ERR_") && statusCode !== undefined && statusCode >= 400 && statusCode < 500;
}

/**
 * Logs why a request was answered with 5xx; other statuses are not logged here. An `ApiError` without a cause is an expected
 * refusal, such as 503 while live billing is disabled or 501 for a transfer coding. Any client can provoke such a refusal, so it
 * is not logged at the level that alerts operators. `answer` was made from `error`.
 */
export function logFailure(
  log: Log,
  { requestId, error, answer }: { requestId: string; error: Error; answer: ApiError },
): void {
  const { status, message, cause } = answer;
  if (status < 500) return;
  if (error === answer && cause === undefined) {
    log.refusal(requestId, status, message);
    return;
  }
  log.failure(requestId, status, error);
}
