import { isId } from "../../postgres/ids.ts";
import { notFound } from "./errors.ts";
import { route, type RouteCall, type RouteDefinition, type RouteSchema } from "./route.ts";
import { Deleted, IdParams } from "./schemas.ts";

type Words = Pick<RouteSchema, "summary" | "description" | "errors">;
type RemovalCall = RouteCall<{ summary: string; params: typeof IdParams; response: { 200: typeof Deleted } }>;

/** A route that takes away what its path's id names; 404 for what is no id. */
export function removal(
  words: Words,
  remove: (call: RemovalCall, id: string) => Promise<unknown>,
): RouteDefinition {
  return route({ ...words, params: IdParams, response: { 200: Deleted } }, async (call) => {
    const { id } = call.params;
    if (!isId(id)) throw notFound();
    await remove(call, id);
    return { deleted: true };
  });
}
