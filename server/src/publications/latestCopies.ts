import { sql } from "kysely";
import { type EventScope, readEvents, type StoredEvent } from "../events/store.ts";
import type { Queries } from "../postgres/tables.ts";

/** The last replay of each of these events that has one, by the id of the event that it repeats. */
export async function latestCopies(
  queries: Queries,
  scope: EventScope,
  events: readonly StoredEvent[],
): Promise<Map<string, StoredEvent>> {
  if (events.length === 0) return new Map();
  const ids = events.map(({ id }) => id);
  // A replay comes after what it repeats, which keeps the days before from being looked at.
  const { rows } = await sql<{ id: string }>`
    select distinct on (e.source_event_id) e.id
    from events e
    where e.org_id = ${scope.orgId}
      and e.source_event_id = any (${ids}::uuid[])
      and e.id > ${ids.reduce((least, id) => (id < least ? id : least))}
    order by e.source_event_id, e.id desc
  `.execute(queries);
  const copies = await readEvents(
    queries,
    scope,
    rows.map(({ id }) => id),
  );
  return new Map(copies.map((copy) => [copy.sourceEventId!, copy]));
}
