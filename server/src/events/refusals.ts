import { ApiError, mailboxDisabled, notFound } from "../http/contract/errors.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import type { ReplayOutcome } from "./replayEvent.ts";

export const replayRefusals = {
  still_waiting: stillWaiting,
  not_found: notFound,
  target_deleted: () => new ApiError(409, "the target of this event was deleted", "target_deleted"),
  mailbox_disabled: mailboxDisabled,
  expired: () => new ApiError(409, "the message and its payload have expired", "message_ended"),
  erased: payloadErased,
};

function stillWaiting({ status, dueAtMs }: Extract<ReplayOutcome, { outcome: "still_waiting" }>): ApiError {
  const next =
    dueAtMs === null
      ? "a delivery is in progress, or its target is disabled"
      : `its next attempt is due at ${new Date(dueAtMs).toISOString()}`;
  const code = status === "QUEUED" ? "still_queued" : "still_retrying";
  return new ApiError(409, `the event is still ${status}: ${next}`, code);
}

export const cancelRefusals = {
  not_found: notFound,
  task_begun: () =>
    new ApiError(409, "an earlier message may have reached the agent: cancel its task instead", "task_begun"),
  not_waiting: notWaiting,
};

function notWaiting({ status }: { status: EventStatus }): ApiError {
  if (status === "QUEUED" || status === "RETRYING") {
    return new ApiError(409, "the event is being sent now", "being_sent");
  }
  if (status === "UNREAD" || status === "CLAIMED") {
    return new ApiError(409, "a consumer has claimed the message", "message_claimed");
  }
  return new ApiError(409, `the event has ended: it is ${status}`, "event_ended");
}

export const payloadRefusals = {
  not_found: notFound,
  expired: () => new ApiError(410, "the message and its payload have expired", "payload_gone"),
  erased: payloadErased,
};

export function payloadErased(): ApiError {
  return new ApiError(410, "the payload was erased", "payload_gone");
}
