import { ApiError } from "../http/contract/errors.ts";

/** The limits of a target as a request gives them; what is undefined stays. */
export interface LimitsInput {
  rate_limit_per_second?: number | null | undefined;
  rate_limit_burst?: number | null | undefined;
}

/**
 * What a change of the rate does to both of its settings.
 * @param present The target's rate before.
 * @throws {ApiError} 400 for a burst without a rate.
 */
export function rateChanges(
  input: LimitsInput,
  present: number | null,
): { rate_limit_per_second?: number | null; rate_limit_burst?: number | null } {
  const { rate_limit_per_second: perSecond, rate_limit_burst: burst } = input;
  const after = perSecond === undefined ? present : perSecond;
  if (after === null && typeof burst === "number") {
    throw new ApiError(400, "rate_limit_burst goes with rate_limit_per_second");
  }
  return {
    ...(perSecond !== undefined && { rate_limit_per_second: perSecond }),
    ...(burst !== undefined && { rate_limit_burst: burst }),
    ...(perSecond === null && { rate_limit_burst: null }),
  };
}
