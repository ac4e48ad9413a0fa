import type { Queries } from "../../postgres/tables.ts";
import { invalid, type Refused } from "../record/refusal.ts";
import type { StoredTarget } from "../record/store.ts";
import { sql } from "kysely";
import { operationalEventTypes } from "../../notifications/store.ts";

/**
 * Why a target's `event_types` are refused: no item's type can match an entry. An entry is a type, or a prefix that ends with
 * `.*`. Items that match no entry are FILTERED, so that without this check, a useless entry would give no error.
 */
export function eventTypesFault(eventTypes: readonly string[] | undefined): string | undefined {
  for (const [index, type] of (eventTypes ?? []).entries()) {
    const fault = entryFault(type);
    if (fault !== undefined) return `event_types.${index} cannot match any type: ${fault}`;
  }
  return undefined;
}

/**
 * If the organization has a catalogue, refuses entries that match none of its types. Entries that the target has already may
 * stay: the catalogue may be newer than the target, or a type may have been deleted since.
 */
export async function checkCatalogue(
  queries: Queries,
  orgId: string,
  eventTypes: readonly string[] | undefined,
  present?: Pick<StoredTarget, "event_types">,
): Promise<Refused | undefined> {
  const fault = eventTypesFault(eventTypes);
  if (fault !== undefined) return invalid(fault);
  const added = (eventTypes ?? []).filter((type) => present?.event_types.includes(type) !== true);
  const unknown = await findUnknownType(queries, orgId, added);
  if (unknown === undefined) return undefined;
  const why = unknown.endsWith(".*") ? "matches no type of the catalogue" : "is not a type of the catalogue";
  return invalid(`event_types.${eventTypes!.indexOf(unknown)} is unknown: ${unknown} ${why}`);
}

function entryFault(type: string): string | undefined {
  if (type.replace(/(?<=.)\.\*$/, "").includes("*")) {
    return "* is allowed only at the end, after a dot, as in invoice.*; an empty list matches all types";
  }
  // Blanks around a header's value are removed, so that no item's type begins or ends with a blank.
  return type.trim() === type ? undefined : "a type must not begin or end with a blank";
}

/** The types of items that the service itself creates: operational events and results of agents' tasks. */
const serviceEventTypes: readonly string[] = [
  ...operationalEventTypes,
  "handoff.completed",
  "handoff.failed",
  "handoff.canceled",
  "handoff.rejected",
  "handoff.unknown",
];

/**
 * The first of a target's `event_types` that matches neither a type of the organization's catalogue nor one of the service's own
 * types; undefined when every entry matches one, and when there is no catalogue.
 */
async function findUnknownType(
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

/** The same rule as `matches_event_types` in SQL. */
function matches(entry: string, type: string): boolean {
  return entry.endsWith(".*") ? type.startsWith(entry.slice(0, -1)) : entry === type;
}
