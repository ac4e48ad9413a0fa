import { queryOptions } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import type { components } from "../api/interface.generated.ts";

/** One request that a tryout target received. */
export type ReceivedRequest = components["schemas"]["TryoutRequest"];

/** The last requests to a tryout target, newest first. */
export function receivedQuery(targetId: string) {
  return queryOptions({
    queryKey: ["tryout", targetId],
    queryFn: async ({ signal }) =>
      (
        await answer(
          client.GET("/api/v1/targets/{id}/tryout", { params: { path: { id: targetId } }, signal }),
        )
      ).requests,
  });
}
