import { ApiError } from "../http/contract/errors.ts";

/**
 * Refuses entries of a target's `event_types` that no item's type can match: an entry is a type, or a prefix that ends
 * with `.*`, and an item that none of them matches is FILTERED without a word.
 * @throws {ApiError} 400 that names the entry.
 */
export function checkEventTypes(eventTypes: readonly string[] | undefined): void {
  for (const [index, type] of (eventTypes ?? []).entries()) {
    const fault = faultOf(type);
    if (fault !== undefined) throw new ApiError(400, `event_types.${index} can match nothing: ${fault}`);
  }
}

function faultOf(type: string): string | undefined {
  if (type.replace(/(?<=.)\.\*$/, "").includes("*")) {
    return "* stands for the rest of a type after a dot, as in invoice.*; leave the list empty for all";
  }
  // Senders' header values come without blanks around them.
  return type.trim() === type ? undefined : "it has blanks around it";
}
