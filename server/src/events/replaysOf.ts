import { sql } from "kysely";
import { firstIdAt, idTimeMs } from "../postgres/ids.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import { dayMs } from "../postgres/partitions.ts";
import type { Queries } from "../postgres/tables.ts";
import { boundsOf, type EventScope, readEvents, type StoredEvent } from "./store.ts";

/**
 * The most generations of replays of replays, rows read for one generation, replays counted for one event, and replays in total
 * whose own replays are searched.
 */
const most = { generations: 20, rows: 100_000, perEvent: 50, inAll: 10_000 };

/** Days by which a replay's id may be earlier than its source's, because clocks of processes differ or were set back. */
const daysOfClocks = 1;

/** The latest replay of each of these events, including replays of replays. Events that were not replayed are not in the map. */
export async function latestReplays(
  queries: Queries,
  scope: EventScope,
  ids: readonly string[],
): Promise<Map<string, StoredEvent>> {
  const children = await descend(queries, scope.orgId, ids);
  const latest = new Map<string, string>();
  for (const id of ids) {
    const newest = [...descendants(children, id)].sort().at(-1);
    if (newest !== undefined) latest.set(id, newest);
  }
  // Statuses are read only for the latest replays, not for all.
  const copies = await readEvents(queries, scope, [...new Set(latest.values())]);
  const byId = new Map(copies.map((copy) => [copy.id, copy]));
  return new Map([...latest].flatMap(([id, newest]) => (byId.has(newest) ? [[id, byId.get(newest)!]] : [])));
}

/**
 * The replays of each of these events, and the replays of these replays, newest first. Events that were not replayed are not in
 * the map. An event with very many replays has only the newest ones.
 */
export async function replaysOf(
  queries: Queries,
  scope: EventScope,
  ids: readonly string[],
): Promise<Map<string, StoredEvent[]>> {
  const children = await descend(queries, scope.orgId, ids);
  if (children.size === 0) return new Map();
  const copies = await readEvents(queries, scope, [...new Set([...children.values()].flat())]);
  const found = new Map<string, StoredEvent[]>();
  for (const id of ids) {
    const below = descendants(children, id);
    if (below.size > 0)
      found.set(
        id,
        copies.filter((copy) => below.has(copy.id)),
      );
  }
  return found;
}

const standing: readonly EventStatus[] = [
  "QUEUED",
  "RETRYING",
  "DELIVERED",
  "UNREAD",
  "CLAIMED",
  "ACKNOWLEDGED",
];

/** Whether a replay makes another replay of the same event unnecessary: it still waits or it has succeeded. */
export function isStanding({ status }: StoredEvent): boolean {
  return standing.includes(status);
}

/** The ids of the direct replays, by the id of the event that they repeat, generation by generation. */
async function descend(
  queries: Queries,
  orgId: string,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const children = new Map<string, string[]>();
  if (ids.length === 0) return children;
  const firstDay = firstIdAt((Math.floor(idTimeMs(boundsOf(ids).first) / dayMs) - daysOfClocks) * dayMs);
  let sources = ids;
  let total = 0;
  for (let depth = 0; depth < most.generations && sources.length > 0; depth++) {
    // Replays come after their sources, so that earlier partitions are pruned. The bound is the start of a partition: with a
    // bound inside a partition, or with a sort, the planner could choose the primary key instead of the index on sources.
    const { rows } = await sql<{ source: string; copies: string[] }>`
      select e.source_event_id as source, (array_agg(e.id order by e.id desc))[1:${most.perEvent}::integer] as copies
      from (
        select e.id, e.source_event_id
        from events e
        where e.org_id = ${orgId}
          and e.id >= ${firstDay}
          and e.source_event_id = any (${sources}::uuid[])
        limit ${most.rows}
      ) e
      group by e.source_event_id
    `.execute(queries);
    for (const { source, copies } of rows) children.set(source, copies);
    sources = rows
      .flatMap(({ copies }) => copies)
      .filter((id) => !children.has(id))
      .slice(0, most.inAll - total);
    total += sources.length;
  }
  return children;
}

function descendants(
  children: ReadonlyMap<string, string[]>,
  id: string,
  found = new Set<string>(),
): Set<string> {
  for (const copy of children.get(id) ?? []) descendants(children, copy, found.add(copy));
  return found;
}
