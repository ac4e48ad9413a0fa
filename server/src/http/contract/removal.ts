import { isId } from "../../postgres/ids.ts";
import { notFound } from "./errors.ts";
import type { RouteCall } from "./route.ts";
import { Deleted } from "./schemas.ts";

/** The answer and the handler of a route that removes what its path's `:id` names; 404 for what is no id. */
export function removal(remove: (call: RouteCall<{ id: string }>, id: string) => Promise<unknown>) {
  return {
    response: { 200: Deleted },
    async handle(call: RouteCall<{ id: string }>) {
      const { id } = call.params;
      if (!isId(id)) throw notFound();
      await remove(call, id);
      return { deleted: true };
    },
  };
}
