import { answer, client, given } from "../api/client.ts";
import type { EventSummary } from "../api/shapes.ts";
import { serviceNowMs } from "../time/serviceClock.ts";
import type { LatestReplay } from "./statuses.ts";
import { eventsQuery, type ItemFilter } from "./filter.ts";

/** An item of a list. An item without a type has an empty one. */
export type ItemRow = Omit<EventSummary, "event_type" | "replayed_by"> & {
  event_type: string;
  replayed_by?: LatestReplay | null;
};

export const pageSize = 100;
const fields = "attempts,last_status_code,next_attempt_at,duration_ms,replayed_by";

/** A page of items, newest first; `before` is the last id of the previous page. @throws {Problem} */
export async function listItems(
  filter: ItemFilter,
  { before, limit = pageSize, signal }: { before?: string | undefined; limit?: number; signal?: AbortSignal },
): Promise<ItemRow[]> {
  const query = { ...eventsQuery(filter, serviceNowMs()), ...given({ limit, fields, before }) };
  const page = await answer(
    client.GET("/api/v1/events", { params: { query: query as never }, ...(signal && { signal }) }),
  );
  return page.events.map((event) => Object.assign(event, { event_type: event.event_type ?? "" }));
}
