import { ApiError, mailboxDisabled, notFound } from "../http/contract/errors.ts";
import type { EventStatus } from "../items/eventStatuses.ts";

export const replayRefusals = {
  not_found: notFound,
  target_deleted: () => new ApiError(409, "the target of this event was deleted", "target_deleted"),
  mailbox_disabled: mailboxDisabled,
  expired: () => new ApiError(409, "the message has expired, and its payload with it", "message_ended"),
  erased: payloadErased,
};

export const cancelRefusals = {
  not_found: notFound,
  task_begun: () =>
    new ApiError(409, "an earlier message may have reached the agent: cancel its task instead", "task_begun"),
  not_waiting: notWaiting,
};

function notWaiting({ status }: { status: EventStatus }): ApiError {
  if (status === "QUEUED" || status === "RETRYING") {
    return new ApiError(409, "the event is being sent at this moment", "being_sent");
  }
  if (status === "UNREAD" || status === "CLAIMED") {
    return new ApiError(409, "a consumer has claimed the message", "message_claimed");
  }
  return new ApiError(409, `the event has ended: it is ${status}`, "event_ended");
}

export const payloadRefusals = {
  not_found: notFound,
  expired: () => new ApiError(410, "the message has expired, and its payload with it", "payload_gone"),
  erased: payloadErased,
};

export function payloadErased(): ApiError {
  return new ApiError(410, "the payload was erased", "payload_gone");
}
