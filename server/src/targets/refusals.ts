import { ApiError, notFound } from "../http/contract/errors.ts";
import type { RefreshOutcome } from "./record/kind.ts";
import type { Refused, TargetRefusal } from "./record/refusal.ts";

/** Returns an outcome that is no refusal. @throws {ApiError} the error for a refusal. */
export function orThrow<Outcome extends { ok: true } | Refused>(
  outcome: Outcome,
): Extract<Outcome, { ok: true }> {
  if (!outcome.ok) throw refusalError(outcome.refusal);
  return outcome as Extract<Outcome, { ok: true }>;
}

/** @throws {ApiError} the error for a refusal, if there is a refusal. */
export function throwRefused(refused: Refused | undefined): void {
  if (refused !== undefined) throw refusalError(refused.refusal);
}

function refusalError(refusal: TargetRefusal): ApiError {
  switch (refusal.kind) {
    case "invalid":
      return new ApiError(400, refusal.message);
    case "gone":
      return notFound();
    case "too_many":
      return new ApiError(409, refusal.message);
    case "uid_taken":
      return new ApiError(409, "another target already has this uid", "uid_taken");
    case "out_of_scope":
      return new ApiError(403, refusal.message, "scope_refused");
    case "headers_needed":
      return new ApiError(
        409,
        `the secret headers were given for ${refusal.origin}: send headers again together with the new url`,
        "headers_needed",
      );
    case "origin_unconfirmed":
      return new ApiError(
        409,
        `the agent card names an interface at ${refusal.origin}, which is not the card's own origin: to send the credential there, add "confirm_origin": "${refusal.origin}"`,
        "origin_unconfirmed",
      );
    case "holds_nothing":
      return new ApiError(
        409,
        "discard_held needs a disabled target, and this target is enabled",
        "target_enabled",
      );
    case "discard_unfinished":
      return new ApiError(
        503,
        `${refusal.items} items were discarded, more are waiting, and the target is still disabled: send the request again`,
        { code: "discard_unfinished", retryAfterSeconds: 1 },
      );
    case "revealing_is_off":
      return new ApiError(
        403,
        "signing secrets cannot be revealed: an admin can allow this with secrets_can_be_revealed in PATCH /api/v1/orgs",
        "revealing_is_off",
      );
  }
}

/** @throws {ApiError} when the agent card could not be read or used. The last usable card stays in use. */
export function throwUnrefreshed(outcome: RefreshOutcome): void {
  switch (outcome.kind) {
    case "current":
    case "gone":
      return;
    case "failed":
      throw new ApiError(502, stays(outcome.problem));
    case "unmet":
      throw new ApiError(409, stays(outcome.problem), "credential_unmet");
    case "held":
      throw new ApiError(409, stays(outcome.problem), outcome.code);
  }
}

function stays(problem: string): string {
  return `the agent card ${problem}; the last usable card stays in use`;
}
