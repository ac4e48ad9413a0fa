import { ApiError } from "../http/contract/errors.ts";

/**
 * Refuses entries of an endpoint's `event_types` that no item's type can equal in practice: types are compared whole, and
 * an item that none of them equals is FILTERED without a word.
 * @throws {ApiError} 400 that names the entry.
 */
export function checkEventTypes(eventTypes: readonly string[] | undefined): void {
  for (const [index, type] of (eventTypes ?? []).entries()) {
    const fault = faultOf(type);
    if (fault !== undefined) throw new ApiError(400, `event_types.${index} can match nothing: ${fault}`);
  }
}

function faultOf(type: string): string | undefined {
  if (type.includes("*")) {
    return "types are compared whole and * stands for itself; list each type, or leave the list empty for all";
  }
  // Senders' header values come without blanks around them.
  return type.trim() === type ? undefined : "it has blanks around it";
}
