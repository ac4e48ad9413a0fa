import type { Static } from "typebox";
import { nearestName } from "../config/nearestName.ts";
import type { EventFilter } from "../events/eventFilter.ts";
import { type EventScope, readEvents, type StoredEvent } from "../events/store.ts";
import { firstIdAt, idRange, idTimeMs } from "../postgres/ids.ts";
import { ReplayFilter } from "./schemas.ts";
import { isPulled } from "../postgres/kinds.ts";
import { isStanding, replaysOf } from "../events/replaysOf.ts";
import type { Queries } from "../postgres/tables.ts";

export type Filter = Static<typeof ReplayFilter>;

const names = Object.keys(ReplayFilter.properties);

/**
 * An error message for an unknown name in a filter, because ignoring the name would make the replay larger. Undefined if all
 * names are known.
 */
export function unknownNameIn(filter: object): string | undefined {
  const unknown = Object.keys(filter).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const shown = JSON.stringify(unknown.slice(0, 60));
  const nearest = nearestName(unknown, names);
  const hint = nearest === undefined ? `the fields are ${names.join(", ")}` : `did you mean ${nearest}?`;
  return `filter.${shown} is not a field of a replay filter: ${hint}`;
}

/** The position in the set at which a page begins, and the end of the set. */
export interface Span {
  after: string;
  /** The events of the set have smaller ids. */
  until: string;
  limit: number;
}

/** A filter for one page of a target's events, oldest first, in the form of the list of events. */
export function pageFilter(
  { filter, targetId, scope }: { filter: Filter; targetId: string; scope: EventScope },
  { after, until, limit }: Span,
): EventFilter {
  return {
    ...scope,
    targetId,
    status: filter.status,
    eventType: filter.event_type,
    correlationId: filter.correlation_id,
    ...idRange({ ...filter, after, before: until }),
    order: "asc",
    limit,
    offset: 0,
  };
}

/** The set of a replay: its filter, and whether it includes failed events that were already replayed. */
export interface ReplaySet {
  filter: Filter;
  includeReplayed: boolean;
  /** The events of the set have smaller ids. */
  until: string;
  /** The job that replays the set, once it is stored. Its own replays do not remove events from the set. */
  id?: string;
}

/**
 * Removes failed events that need not be sent again: an event with a replay that still waits or has succeeded, and a failed
 * replay of an event that is itself in the set, so that each event is sent once. Sets of other statuses are returned unchanged.
 * @param ids In ascending order.
 */
export async function withoutReplayed(
  snapshot: Queries,
  { filter, includeReplayed, until, id: jobId }: ReplaySet,
  scope: EventScope,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (includeReplayed || (filter.status !== "FAILED" && filter.status !== "DEAD")) return ids;
  const replays = await replaysOf(snapshot, scope, ids);
  const sources = await sourcesOf(snapshot, scope, ids);
  const isSentAnyway = ({ id, status, kind }: StoredEvent): boolean =>
    status === filter.status &&
    (filter.created_after === undefined || id >= firstIdAt(filter.created_after * 1000)) &&
    (!isPulled(kind) || idTimeMs(id) >= idTimeMs(until) - scope.mailboxRetentionMs);
  return ids.filter((id) => {
    const source = sources.get(id);
    if (source !== undefined && isSentAnyway(source)) return false;
    return replays.get(id)?.some((replay) => isStanding(replay) && replay.replayId !== jobId) !== true;
  });
}

/** Returns the source event of each event that is itself a replay. */
async function sourcesOf(
  snapshot: Queries,
  scope: EventScope,
  ids: readonly string[],
): Promise<Map<string, StoredEvent>> {
  if (ids.length === 0) return new Map();
  const rows = await snapshot
    .selectFrom("events")
    .select(["id", "source_event_id as source"])
    .where("org_id", "=", scope.orgId)
    .where("id", "in", [...ids])
    .where("id", ">=", ids[0]!)
    .where("id", "<=", ids.at(-1)!)
    .where("source_event_id", "is not", null)
    .execute();
  const wanted = [...new Set(rows.map((row) => row.source!))];
  const read = new Map((await readEvents(snapshot, scope, wanted)).map((event) => [event.id, event]));
  return new Map(rows.flatMap(({ id, source }) => (read.has(source!) ? [[id, read.get(source!)!]] : [])));
}
