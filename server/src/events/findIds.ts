import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../postgres/tables.ts";
import { type Condition, type EventFilter, reach } from "./eventFilter.ts";
import { readMailboxFacts } from "./mailboxPage.ts";
import { missingOf, type Source, sourcesOf } from "./sources.ts";
import { hasStatus } from "./statusCondition.ts";
import { boundsOf } from "./store.ts";
import { type IdBounds, within } from "./statuses.ts";

/** Executes a statement; a test also reads its plan. */
export type Run = <Row>(statement: RawBuilder<Row>) => Promise<Row[]>;

/** How many events of a source the first step looks at, and the most that one step does. */
const firstStep = 200;
const maxStep = 5_000;
const growth = 4;

/** The ids of a page, in order. The filter's target must be the organization's. */
export async function findIds(snapshot: Queries, filter: EventFilter, run: Run): Promise<string[]> {
  const sources = sourcesOf(filter, await readMailboxFacts(snapshot, filter));
  if (missingOf(sources[0]!, filter).length === 0) {
    return (await run(sources[0]!.page(filter))).map(({ id }) => id);
  }
  return raceOf(filter, sources, run);
}

/** How far one source has been walked. */
interface Walk {
  source: Source;
  found: string[];
  /** The last event that was looked at. */
  lastId: string | undefined;
  isEnded: boolean;
}

/**
 * No index covers the whole filter: every index that covers a part of it is walked in turn, all with the same growing steps,
 * until one walk has filled the page or reached its end. The cost is a small multiple of the shortest walk. Which walk is the
 * shortest cannot be known beforehand: the event type may be rarer, or the status.
 */
async function raceOf(filter: EventFilter, sources: readonly Source[], run: Run): Promise<string[]> {
  const walks = sources.map((source): Walk => ({ source, found: [], lastId: undefined, isEnded: false }));
  for (let step = firstStep; ; step = Math.min(step * growth, maxStep)) {
    for (const walk of walks) {
      await takeStep(walk, filter, { step, run });
      if (walk.isEnded || walk.found.length >= reach(filter)) {
        return walk.found.slice(filter.offset, reach(filter));
      }
    }
  }
}

async function takeStep(
  walk: Walk,
  filter: EventFilter,
  { step, run }: { step: number; run: Run },
): Promise<void> {
  const { source, lastId } = walk;
  const range = { ...filter, limit: step, offset: 0 };
  if (lastId !== undefined)
    Object.assign(range, filter.order === "desc" ? { below: lastId } : { above: lastId });
  const ids = (await run(source.page(range))).map(({ id }) => id);
  walk.lastId = ids.at(-1);
  walk.isEnded = ids.length < step;
  walk.found.push(...(await fitting(ids, missingOf(source, filter), filter, run)));
}

/** The events of a step that meet the conditions, in the step's order. Their id range lets the planner skip other days' partitions. */
async function fitting(
  ids: readonly string[],
  conditions: readonly Condition[],
  filter: EventFilter,
  run: Run,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const bounds = boundsOf(ids);
  const rows = await run(sql<{ id: string }>`
    select i.id
    from unnest(${ids}::uuid[]) as i (id)
    cross join lateral (
      select e.*
      from events e
      where e.org_id = ${filter.orgId}
        and e.id = i.id
        ${within(bounds, sql`e.id`)}
      limit 1
    ) e
    where ${sql.join(
      conditions.map((name) => conditionOn(name, filter, bounds)),
      sql` and `,
    )}
  `);
  const found = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => found.has(id));
}

/** SQL predicate on an event `e` for one condition of the filter. */
function conditionOn(name: Condition, filter: EventFilter, bounds: IdBounds): RawBuilder<unknown> {
  switch (name) {
    case "targetId":
      return sql`e.target_id = ${filter.targetId}`;
    case "customerUid":
      return sql`exists (
        select
        from targets t
        where t.id = e.target_id
          and t.org_id = ${filter.orgId}
          and t.customer_uid = ${filter.customerUid}
      )`;
    case "correlationId":
      return sql`e.correlation_id = ${filter.correlationId}`;
    case "eventType":
      return sql`e.event_type = ${filter.eventType}`;
    case "replayId":
      return sql`e.replay_id = ${filter.replayId}`;
    case "handoffState":
      return sql`is_handoff(e.kind) and exists (
        select
        from handoffs h
        where h.bucket = e.bucket
          and h.event_id = e.id
          and coalesce(h.state, h.outcome) = ${filter.handoffState}
      )`;
    case "status":
      return hasStatus(filter, filter.status!, bounds);
  }
}
