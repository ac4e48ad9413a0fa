import { eventTypePage, listEventTypes } from "../eventTypes/eventTypeQueries.ts";
import { usePages } from "../states/PagedList.tsx";

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
