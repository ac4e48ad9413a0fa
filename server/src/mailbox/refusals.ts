import { ApiError, type ErrorCode, notFound, unauthorized } from "../http/contract/errors.ts";
import type { NamedClaimRefusal } from "./claim/claimNamedMessages.ts";
import type { ChangeResult } from "./finish/closeMessages.ts";
import type { ForceOutcome } from "./finish/forceMessage.ts";

/** The error for the result of changing a claim; undefined when the change was made. */
export function changeRefusal(result: ChangeResult): ApiError | undefined {
  switch (result) {
    case "done":
    case "done before":
      return undefined;
    case "unauthorized":
      return unauthorized();
    case "not found":
      return notFound();
    case "forbidden":
      return new ApiError(403, "another API key has claimed the message");
    case "stale":
      return new ApiError(
        409,
        "the claim is not active: it never existed, has lapsed, or was replaced by a later claim",
        "claim_lost",
      );
    case "expired":
      return new ApiError(409, "the message has expired", "message_ended");
  }
}

/** The error for a message that could not be claimed. */
export function claimRefusal(refusal: NamedClaimRefusal): ApiError {
  if (refusal === "unauthorized") return unauthorized();
  if (refusal === "not found") return notFound();
  return new ApiError(409, ...whyNotClaimable[refusal]);
}

type NotClaimable = Exclude<NamedClaimRefusal, "unauthorized" | "not found">;

const whyNotClaimable: Record<NotClaimable, [message: string, code: ErrorCode]> = {
  claimed: ["the message is claimed", "message_claimed"],
  busy: ["the message is claimed", "message_claimed"],
  acknowledged: ["the message is acknowledged", "message_ended"],
  dead: ["the message is dead: redrive the message first", "message_ended"],
  expired: ["the message has expired", "message_ended"],
  ended: ["the item was canceled, or did not pass the mailbox's filter", "message_ended"],
  behind: ["an earlier message with the same ordering key has not ended", "message_behind"],
};

/** The error for an intervention that was refused. */
export function forceRefusal(outcome: Exclude<ForceOutcome, "done">): ApiError {
  switch (outcome) {
    case "not_found":
      return notFound();
    case "user_deleted":
      return unauthorized();
    case "unclaimed":
      return new ApiError(409, "nobody has claimed the message", "message_unclaimed");
    case "ended":
      return new ApiError(409, "the message has already ended", "message_ended");
    case "expired":
      return new ApiError(409, "the message has expired", "message_ended");
    case "busy":
      return new ApiError(503, "the message changes too often: try again", {
        retryAfterSeconds: 1,
      });
  }
}
