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
  switch (outcome) {
    case "unauthorized":
      return unauthorized();
    case "not_found":
      return notFound();
    case "idempotency_conflict":
      return new ApiError(409, "Idempotency-Key was used with a different body", {
        code: "idempotency_conflict",
      });
    case "mailbox_disabled":
      return mailboxDisabled();
    case "too_large":
      return new ApiError(413, "the body is larger than the target's max_payload_bytes");
    case "suspended":
      return workspaceSuspended();
    case "pending":
      return workspacePending();
  }
}
