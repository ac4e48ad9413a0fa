import { ApiError, mailboxDisabled, notFound } from "../http/contract/errors.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import type { CancelOutcome } from "./cancelEvent.ts";
import type { PayloadOutcome } from "./readPayload.ts";
import type { ReplayOutcome } from "./replayEvent.ts";

/** The error for an event that was not replayed. */
export function replayRefusal(refused: Exclude<ReplayOutcome, { outcome: "replayed" }>): ApiError {
  switch (refused.outcome) {
    case "still_waiting": {
      const { status, dueAtMs } = refused;
      const next =
        dueAtMs === null
          ? "it is being delivered, or held until its target is enabled"
          : `its next attempt is due at ${new Date(dueAtMs).toISOString()}`;
      return new ApiError(409, `the event is still ${status}: ${next}`, {
        code: status === "QUEUED" ? "still_queued" : "still_retrying",
      });
    }
    case "not_found":
      return notFound();
    case "target_deleted":
      return new ApiError(409, "the target of this event was deleted");
    case "mailbox_disabled":
      return mailboxDisabled();
    case "expired":
      return new ApiError(409, "the message has expired, and its payload with it");
    case "erased":
      return payloadErased();
  }
}

/** The error for an event that was not canceled. */
export function cancelRefusal(refused: Exclude<CancelOutcome, { outcome: "canceled" }>): ApiError {
  switch (refused.outcome) {
    case "not_found":
      return notFound();
    case "task_begun":
      return new ApiError(409, "an earlier message may have reached the agent: cancel its task instead", {
        code: "task_begun",
      });
    case "not_waiting":
      return notWaiting(refused.status);
  }
}

function notWaiting(status: EventStatus): ApiError {
  if (status === "QUEUED" || status === "RETRYING") {
    return new ApiError(409, "the event is being sent at this moment", { code: "being_sent" });
  }
  if (status === "UNREAD" || status === "CLAIMED") {
    return new ApiError(409, "a consumer has claimed the message", { code: "message_claimed" });
  }
  return new ApiError(409, `the event has ended: it is ${status}`, { code: "event_ended" });
}

/** The error for a payload that cannot be read. */
export function payloadRefusal({ outcome }: Exclude<PayloadOutcome, { outcome: "read" }>): ApiError {
  switch (outcome) {
    case "not_found":
      return notFound();
    case "expired":
      return new ApiError(410, "the message has expired, and its payload with it", { code: "payload_gone" });
    case "erased":
      return payloadErased();
  }
}

export function payloadErased(): ApiError {
  return new ApiError(410, "the payload was erased", { code: "payload_gone" });
}
