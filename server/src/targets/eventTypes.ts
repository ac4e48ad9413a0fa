import { findUnknownType } from "../eventTypes/findUnknownType.ts";
import { ApiError } from "../http/contract/errors.ts";
import type { Queries } from "../postgres/tables.ts";
import type { StoredTarget } from "./store.ts";

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

/**
 * Refuses entries that the organization's catalogue does not know, where there is one. What the target has already may
 * stay: the catalogue may have come later, or lost a type since. Only webhooks have any.
 * @throws {ApiError} 400 that names the entry.
 */
export async function checkCatalogued(
  queries: Queries,
  orgId: string,
  eventTypes: readonly string[] | undefined,
  present?: Pick<StoredTarget, "kind" | "event_types">,
): Promise<void> {
  if (present !== undefined && present.kind !== "webhook") return;
  checkEventTypes(eventTypes);
  const added = (eventTypes ?? []).filter((type) => present?.event_types.includes(type) !== true);
  const unknown = await findUnknownType(queries, orgId, added);
  if (unknown === undefined) return;
  const why = unknown.endsWith(".*") ? "begins no type of the catalogue" : "is no type of the catalogue";
  throw new ApiError(400, `event_types.${eventTypes!.indexOf(unknown)} is unknown: ${unknown} ${why}`);
}

function faultOf(type: string): string | undefined {
  if (type.replace(/(?<=.)\.\*$/, "").includes("*")) {
    return "* stands for the rest of a type after a dot, as in invoice.*; leave the list empty for all";
  }
  // Senders' header values come without blanks around them.
  return type.trim() === type ? undefined : "it has blanks around it";
}
