import {
  ApiError,
  mailboxDisabled,
  notFound,
  unauthorized,
  workspacePending,
  workspaceSuspended,
} from "../http/contract/errors.ts";
import type { RefusedItem } from "../items/item.ts";

/** What is answered to an item that was not accepted. */
export function refusalOf({ outcome }: RefusedItem): ApiError {
  return refusals[outcome]();
}

const refusals: Record<RefusedItem["outcome"], () => ApiError> = {
  unauthorized,
  not_found: notFound,
  idempotency_conflict: () =>
    new ApiError(409, "Idempotency-Key was used with a different body", { code: "idempotency_conflict" }),
  mailbox_disabled: mailboxDisabled,
  too_large: () => new ApiError(413, "the body is larger than the target's max_payload_bytes"),
  suspended: workspaceSuspended,
  pending: workspacePending,
};
