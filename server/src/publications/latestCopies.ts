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
  // Neither sorted nor bounded by id, either of which could have the planner walk what is sorted so already.
  const { rows } = await sql<{ id: string; source: string }>`
    select e.id, e.source_event_id as source
    from events e
    where e.org_id = ${scope.orgId}
      and e.source_event_id = any (${events.map(({ id }) => id)}::uuid[])
  `.execute(queries);
  const last = new Map<string, string>();
  for (const { id, source } of rows) {
    const present = last.get(source);
    if (present === undefined || present < id) last.set(source, id);
  }
  const copies = await readEvents(queries, scope, [...last.values()]);
  return new Map(copies.map((copy) => [copy.sourceEventId!, copy]));
}
