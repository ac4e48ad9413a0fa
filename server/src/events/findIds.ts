import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../postgres/tables.ts";
import { type Condition, conditionNames, type EventFilter, type IdStatement, reach } from "./eventFilter.ts";
import { type MailboxFacts, mailboxPage, noFacts, readMailboxFacts } from "./mailboxPage.ts";
import { boundsOf } from "./store.ts";
import { hasStatus, type IdBounds, within } from "./statuses.ts";
import { readFirstDays } from "../postgres/firstDays.ts";
import { bucketOf } from "../postgres/ids.ts";
import { customerPage, eventsWhere, handoffPage, statusPage } from "./pageStatement.ts";
import { type EventStatus, isMailboxStatus } from "../items/eventStatuses.ts";

/** Executes a statement; a test also reads its plan. */
export type Run = <Row>(statement: RawBuilder<Row>) => Promise<Row[]>;

/** Events of a source that the first step reads, and the most that any step reads. */
const firstStep = 200;
const maxStep = 5_000;
const growth = 4;

export interface Search {
  run: Run;
  /** Whether to stop a search that no index covers; asked after each of its steps. */
  isOver: () => boolean;
}

export interface FoundIds {
  /** In order. */
  ids: string[];
  /** The event up to which the search came, if it was stopped: `ids` has all matching events before it, and itself if it matches. */
  reachedId?: string;
}

/** The ids of a page. The filter's target must be the organization's. */
export async function findIds(snapshot: Queries, filter: EventFilter, search: Search): Promise<FoundIds> {
  const sources = sourcesOf(filter, await readMailboxFacts(snapshot, filter));
  if (missingOf(sources[0]!, filter).length > 0) return raceOf(filter, sources, search);
  return { ids: await pageOf(sources[0]!, filter, search.run) };
}

async function pageOf(source: Source, filter: EventFilter, run: Run): Promise<string[]> {
  const read = async (range: EventFilter): Promise<string[]> =>
    (await run(source.page(range))).map(({ id }) => id);
  return source.isUndated === true ? read(filter) : readFirstDays(filter, read);
}

interface Walk {
  source: Source;
  found: string[];
  lastId: string | undefined;
  isEnded: boolean;
}

/**
 * Finds a page where no index covers the whole filter. Walks every index that covers a part of the filter, one step of each in
 * turn. All walks have the same growing steps. The search ends when one walk has filled the page or reached the end of its index.
 * The cost is a small multiple of the shortest walk. Which walk is the shortest is not known beforehand: the event type may be
 * rarer, or the status.
 */
async function raceOf(
  filter: EventFilter,
  sources: readonly Source[],
  { run, isOver }: Search,
): Promise<FoundIds> {
  const walks = sources.map((source): Walk => ({ source, found: [], lastId: undefined, isEnded: false }));
  for (let step = firstStep; ; step = Math.min(step * growth, maxStep)) {
    for (const walk of walks) {
      await takeStep(walk, filter, { step, run });
      if (walk.isEnded || walk.found.length >= reach(filter)) {
        return { ids: walk.found.slice(filter.offset, reach(filter)) };
      }
      if (isOver()) return reachedBy(walks, filter);
    }
  }
}

/** The result of the walk that came farthest. */
function reachedBy(walks: readonly Walk[], { order, offset }: EventFilter): FoundIds {
  const isFarther = (one: string, other: string): boolean => (order === "desc" ? one < other : one > other);
  const { lastId, found } = walks.reduce((farthest, walk) =>
    walk.lastId !== undefined && isFarther(walk.lastId, farthest.lastId!) ? walk : farthest,
  );
  return { ids: found.slice(offset), reachedId: lastId! };
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
  const ids = await pageOf(source, range, run);
  walk.lastId = ids.at(-1);
  walk.isEnded = ids.length < step;
  walk.found.push(...(await fitting(ids, missingOf(source, filter), filter, run)));
}

/** The events of a step that meet the conditions, in the step's order. The range of their ids allows partition pruning by day. */
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

/** An index or query that gives the events that meet some of the filter's conditions, in order. */
interface Source {
  /** The conditions of the filter that all events of the source meet. */
  meets: readonly Condition[];
  /** The ids of one page of the source; `filter` may also name another range. */
  page: (filter: EventFilter) => IdStatement;
  /** Whether a page is merged from many targets or sorted. Other sources read it in order from one index. */
  isGathered?: boolean;
  /** Whether the rows are in a table that is not partitioned by day. */
  isUndated?: boolean;
}

/**
 * The sources in which a filter's events can be found: all that could be the shortest walk, or one alone if it has exactly the
 * events that match.
 */
function sourcesOf(filter: EventFilter, facts: MailboxFacts): Source[] {
  const { orgId, targetId, customerUid, status, correlationId, eventType, handoffState, replayId } = filter;
  const sources: Source[] = [];
  if (handoffState !== undefined) {
    sources.push({ meets: ["handoffState", "targetId"], page: (range) => handoffPage(range, handoffState) });
  }
  if (correlationId !== undefined) {
    sources.push(listed("correlationId", sql`e.org_id = ${orgId} and e.correlation_id = ${correlationId}`));
  }
  if (replayId !== undefined) {
    sources.push(listed("replayId", sql`e.org_id = ${orgId} and e.replay_id = ${replayId}`));
  }
  if (eventType !== undefined) {
    const ofType = sql`e.event_type is not null and e.event_type collate "C" = ${eventType}`;
    sources.push(listed("eventType", sql`e.org_id = ${orgId} and ${ofType}`));
  }
  if (customerUid !== undefined) {
    sources.push({ meets: ["customerUid"], page: customerPage, isGathered: true });
  }
  // The sources by status and by handoff state cover the target, too, and have fewer of its events.
  if (targetId !== undefined && status === undefined && handoffState === undefined) {
    sources.push(listed("targetId", sql`e.bucket = ${bucketOf(targetId)} and e.target_id = ${targetId}`));
  }
  // Last in each turn, because a step of some statuses costs more than a step of an index.
  if (status !== undefined) sources.push(statusSource(filter, status, facts));
  if (sources.length === 0)
    return [{ meets: [], page: (range) => eventsWhere(range, sql`e.org_id = ${orgId}`) }];
  const whole = sources.find((source) => missingOf(source, filter).length === 0);
  return whole === undefined ? sources : [whole];
}

/** The source for one condition whose events one index has in order. */
function listed(name: Condition, condition: RawBuilder<unknown>): Source {
  return { meets: [name], page: (range) => eventsWhere(range, condition) };
}

/** The conditions of a filter that must be checked for each event of a source. */
function missingOf({ meets }: Source, filter: EventFilter): Condition[] {
  return conditionNames.filter((name) => filter[name] !== undefined && !meets.includes(name));
}

function statusSource(
  { targetId, customerUid }: EventFilter,
  status: EventStatus,
  facts: MailboxFacts,
): Source {
  if (status === "DELIVERED")
    return { meets: ["status", "targetId"], page: (range) => statusPage(range, status) };
  const meets = ["status", "targetId", "customerUid"] as const;
  if (isMailboxStatus(status)) {
    const isSorted = status === "UNREAD" || status === "CLAIMED" || status === "DEAD";
    return {
      meets,
      page: (range) => mailboxPage(range, status, facts),
      isGathered: isSorted || targetId === undefined,
      isUndated: status === "UNREAD" || status === "CLAIMED",
    };
  }
  const isWaiting = status === "QUEUED" || status === "RETRYING";
  return {
    meets,
    page: (range) => statusPage(range, status),
    isGathered: targetId === undefined && (isWaiting || customerUid !== undefined),
    isUndated: isWaiting,
  };
}

/** An offset up to which the time to skip index entries is negligible. */
const maxFreeOffset = 1_000;

/**
 * The concurrency limit that applies to a page: `searches` if events are walked until enough of them match, or if many are
 * skipped; `lists` if the page is merged or sorted; none if one index returns it in order.
 */
export function turnOf(filter: EventFilter): "lists" | "searches" | undefined {
  // All events of a target belong to the target's customer, so `customerUid` excludes none.
  const searched = filter.targetId === undefined ? filter : { ...filter, customerUid: undefined };
  const [source] = sourcesOf(searched, noFacts);
  if (missingOf(source!, searched).length > 0 || filter.offset > maxFreeOffset) return "searches";
  return source!.isGathered === true ? "lists" : undefined;
}
