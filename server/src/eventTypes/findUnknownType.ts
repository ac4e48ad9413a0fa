import { sql } from "kysely";
import { operationalEventTypes } from "../notifications/eventTypes.ts";
import type { Queries } from "../postgres/tables.ts";

/** The types of items that the service makes by itself: operational events, and the ends of agents' tasks. */
const serviceEventTypes: readonly string[] = [
  ...operationalEventTypes,
  "handoff.completed",
  "handoff.failed",
  "handoff.canceled",
  "handoff.rejected",
  "handoff.unknown",
];

/**
 * The first of a target's `event_types` that matches neither a type of the organization's catalogue nor one that the
 * service makes; undefined when each does, and where there is no catalogue.
 */
export async function findUnknownType(
  queries: Queries,
  orgId: string,
  entries: readonly string[],
): Promise<string | undefined> {
  const asked = entries.filter((entry) => !serviceEventTypes.some((type) => matches(entry, type)));
  if (asked.length === 0) return undefined;
  const { rows } = await sql<{ entry: string }>`
    select e.entry
    from unnest(${asked}::text[]) with ordinality as e (entry, place)
    where exists (select from event_types t where t.org_id = ${orgId})
      and not exists (
        select
        from event_types t
        where t.org_id = ${orgId}
          and case
            when e.entry like '%.*' then starts_with(t.name, left(e.entry, -1))
            else t.name = e.entry
          end
      )
    order by e.place
    limit 1`.execute(queries);
  return rows[0]?.entry;
}

/** Does the same as `matches_event_types` in SQL. */
function matches(entry: string, type: string): boolean {
  return entry.endsWith(".*") ? type.startsWith(entry.slice(0, -1)) : entry === type;
}
