import type { Cells } from "../postgres/cells.ts";
import type { RouteCall, RouteRecord } from "./contract/route.ts";

/**
 * Merges the routes of all cells into one list: the caller's organization decides which cell's route answers. The first cell's
 * routes answer callers without an organization. With one cell, the list is that cell's own.
 */
export function routedByCell(
  first: readonly RouteRecord[],
  others: readonly (readonly RouteRecord[])[],
  cells: Cells,
): RouteRecord[] {
  if (others.length === 0) return [...first];
  return first.map((route, index) => {
    const routes = [route, ...others.map((ofCell) => ofCell[index]!)];
    return {
      ...route,
      handle: (call: RouteCall) => routes[cellOf(cells, call)]!.handle(call),
      ...(route.fast && {
        fast: (...call: Parameters<typeof route.fast>) => routes[cells.ofOrg(call[1]).number]!.fast!(...call),
      }),
    };
  });
}

/** The number of the caller's cell; 0 on a route without credential, which has no caller. */
function cellOf(cells: Cells, { caller, request }: RouteCall): number {
  const orgId = (caller as typeof caller | null)?.orgId ?? request.keyOwner;
  return orgId === null ? 0 : cells.ofOrg(orgId).number;
}
