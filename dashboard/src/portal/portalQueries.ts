import { queryOptions } from "@tanstack/react-query";
import { answer, client, given } from "../api/client.ts";
import type { Status } from "../api/shapes.ts";
import { eventTypePage, listEventTypes } from "../eventTypes/eventTypeQueries.ts";
import { usePages } from "../states/PagedList.tsx";

export const portalQuery = queryOptions({
  queryKey: ["portal"],
  queryFn: ({ signal }) => answer(client.GET("/api/v1/portal", { signal })),
  staleTime: 60_000,
});

/** Number of deliveries that a page shows, and the most that one replay of failures covers. */
export const deliveriesShown = 50;

/** The latest deliveries of an endpoint, with one status or all. */
export function deliveriesQuery(targetId: string, status: Status | undefined) {
  return queryOptions({
    queryKey: ["items", "portal", targetId, status ?? ""],
    queryFn: async ({ signal }) => {
      const query = given({
        target_id: targetId,
        limit: deliveriesShown,
        fields: "attempts,last_status_code",
        status,
      });
      return (await answer(client.GET("/api/v1/events", { params: { query: query as never }, signal })))
        .events;
    },
  });
}

/** The catalogue of event types, page by page. */
export function useCatalogue() {
  return usePages({
    queryKey: ["eventTypes", "portal"],
    read: (after, signal) => listEventTypes({}, { after, signal }),
    size: eventTypePage,
    cursorOf: ({ name }) => name,
    staleTime: 60_000,
  });
}
