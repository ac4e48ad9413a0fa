import type { Cells } from "../postgres/cells.ts";
import type { RouteCall, RouteSchema } from "./contract/route.ts";
import type { RouteRow } from "./contract/routeTable.ts";

/**
 * One table of routes in place of one for each cell: the caller's organization says whose route answers. Who is of no
 * organization gets the first cell's. With one cell it is its table.
 */
export function routedByCell(
  first: readonly RouteRow[],
  others: readonly (readonly RouteRow[])[],
  cells: Cells,
): RouteRow[] {
  if (others.length === 0) return [...first];
  return first.map(([method, path, credential, route, ...rest], index) => {
    const routes = [route, ...others.map((rows) => rows[index]![3])];
    const routed = {
      ...route,
      handle: (call: RouteCall<RouteSchema>) => routes[cellOf(cells, call)]!.handle(call),
      ...(route.fast && {
        fast: (...call: Parameters<typeof route.fast>) => routes[cells.ofOrg(call[1]).number]!.fast!(...call),
      }),
    };
    return [method, path, credential, routed, ...rest];
  });
}

/** The number of the cell of whoever calls. A route without credential has no caller. */
function cellOf(cells: Cells, { caller, request }: RouteCall<RouteSchema>): number {
  const orgId = (caller as typeof caller | null)?.orgId ?? request.keyOwner;
  return orgId === null ? 0 : cells.ofOrg(orgId).number;
}
