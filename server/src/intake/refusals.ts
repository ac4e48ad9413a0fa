import {
  ApiError,
  mailboxDisabled,
  noneNamed,
  notFound,
  unauthorized,
  organizationPending,
  organizationSuspended,
} from "../http/contract/errors.ts";
import type { RefusedItem } from "../items/item.ts";
import { maxItems, type Published } from "./publishItems.ts";

/** The error for an item that was not accepted. */
export function refusalOf({ outcome }: RefusedItem): ApiError {
  return refusals[outcome]();
}

const refusals: Record<RefusedItem["outcome"], () => ApiError> = {
  unauthorized,
  not_found: notFound,
  idempotency_conflict: () =>
    new ApiError(409, "Idempotency-Key was used with a different body", "idempotency_conflict"),
  mailbox_disabled: mailboxDisabled,
  too_large: () => new ApiError(413, "the body is larger than the target's max_payload_bytes"),
  suspended: organizationSuspended,
  pending: organizationPending,
};

/**
 * The error for a publication that was not accepted.
 * @param customer the customer in the path; undefined for a publication to the targets without a customer.
 */
export function publicationRefusal(
  refused: Exclude<Published, { id: string }>,
  customer: string | undefined,
): ApiError {
  if (refused.outcome === "not_found" && customer !== undefined) return noneNamed("customer", customer);
  if (refused.outcome === "too_large") return largerThan(refused.targetId);
  if (refused.outcome === "too_many_targets") return tooManyTargets();
  return refusalOf(refused);
}

export function largerThan(targetId: string): ApiError {
  return new ApiError(413, `the body is larger than max_payload_bytes of the target ${targetId}`);
}

export function tooManyTargets(): ApiError {
  return new ApiError(
    409,
    `the publication would reach more than ${maxItems} targets, the maximum`,
    "too_many_targets",
  );
}
