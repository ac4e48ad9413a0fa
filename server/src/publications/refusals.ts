import { ApiError, noneNamed } from "../http/contract/errors.ts";
import { refusalOf } from "../intake/refusals.ts";
import { maxItems, type Published } from "./publisher.ts";

/** What is answered to a publication that was not accepted; `customer` is whom its path named. */
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
  return new ApiError(409, `it would reach more than ${maxItems} targets, which one call cannot`, {
    code: "too_many_targets",
  });
}
