import type { Static } from "typebox";
import { nearestName } from "../config/nearestName.ts";
import type { EventFilter } from "../events/eventFilter.ts";
import type { EventScope } from "../events/store.ts";
import { firstIdAt } from "../postgres/ids.ts";
import { ReplayFilter } from "./schemas.ts";

export type Filter = Static<typeof ReplayFilter>;

const names = Object.keys(ReplayFilter.properties);

/** Says which name is no part of a filter: ignored, it would make the replay larger. Undefined when all are known. */
export function unknownNameIn(filter: object): string | undefined {
  const unknown = Object.keys(filter).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const shown = JSON.stringify(unknown.slice(0, 60));
  const nearest = nearestName(unknown, names);
  const hint = nearest === undefined ? `it takes ${names.join(", ")}` : `did you mean ${nearest}?`;
  return `filter.${shown} is no part of a replay's filter: ${hint}`;
}

/** The part of a page that says where in the set it begins, and where the set ends. */
export interface Span {
  /** The last event before the page. */
  after: string;
  /** Events of the set have smaller ids. */
  until: string;
  limit: number;
}

/** A page of a target's events that a filter fits, oldest first, as lists of events are asked for. */
export function pageFilter(
  { filter, targetId, scope }: { filter: Filter; targetId: string; scope: EventScope },
  { after, until, limit }: Span,
): EventFilter {
  const { created_after: from, created_before: before } = filter;
  const above = from === undefined ? after : [after, firstIdAt(from * 1000)].sort()[1];
  const below = before === undefined ? until : [until, firstIdAt(before * 1000)].sort()[0];
  return {
    ...scope,
    targetId,
    status: filter.status,
    eventType: filter.event_type,
    correlationId: filter.correlation_id,
    above,
    below,
    order: "asc",
    limit,
    offset: 0,
  };
}
