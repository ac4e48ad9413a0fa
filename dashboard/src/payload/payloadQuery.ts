import { queryOptions } from "@tanstack/react-query";
import { readText } from "../api/client.ts";

/** The exact bytes of an item's payload, as text. They never change, but may be erased: read again at each opening. */
export function payloadQuery(id: string) {
  return queryOptions({
    queryKey: ["payload", id],
    queryFn: async ({ signal }) => (await readText(`api/v1/events/${id}/payload`, { signal })).text(),
    refetchOnWindowFocus: false,
    gcTime: 60_000,
  });
}
