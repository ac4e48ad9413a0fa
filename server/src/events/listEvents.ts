import { sql } from "kysely";
import { isHandoff, isPulled, kindNumbers, type TargetKind } from "../postgres/kinds.ts";
import type { Queries } from "../postgres/tables.ts";
import type { EventFilter } from "./eventFilter.ts";
import { type HandoffSummary, readHandoffs } from "../handoff/record/handoffAnswer.ts";
import { findIds, type FoundIds, type Search } from "./findIds.ts";
import { type Progress, readProgress } from "./progress.ts";
import { latestReplays } from "./replaysOf.ts";
import { ApiError, clientGone } from "../http/contract/errors.ts";
import { isMailboxStatus } from "../items/eventStatuses.ts";
import { restBetween } from "../runtime/restBetween.ts";
import { ownedKind, readEvents, type StoredEvent } from "./store.ts";

export interface EventPage {
  events: StoredEvent[];
  /** By event id; empty unless the caller asked for it. */
  progress: ReadonlyMap<string, Progress>;
  /** The latest replay of each replayed event, by event id; empty unless the caller asked for it. */
  replays: ReadonlyMap<string, StoredEvent>;
  /** By event id; empty unless the caller asked for it. */
  handoffs: ReadonlyMap<string, HandoffSummary>;
}

/** Further parts of a page to read, and the signal that ends the search. */
interface ListOptions {
  progress?: boolean;
  replays?: boolean;
  handoffs?: boolean;
  signal?: AbortSignal;
  searchMs?: number;
}

/** The longest search for a page. The snapshot keeps vacuum from removing dead rows during the search. */
const maxSearchMs = 10_000;

/** Pauses between the steps of a search, each of up to 5,000 events. */
export const searchRests = { undisturbedMs: 20, maxRestMs: 200 };

/**
 * A page of an organization's events, all as of one moment; empty for another organization's target.
 * @throws {ApiError} 400 when the filters match so few events that a page was not found in time.
 */
export async function listEvents(
  queries: Queries,
  filter: EventFilter,
  { progress = false, replays = false, handoffs = false, signal, searchMs = maxSearchMs }: ListOptions = {},
): Promise<EventPage> {
  const endsAtMs = performance.now() + searchMs;
  const inSteps = restBetween(searchRests);
  return inSnapshot(queries, async (snapshot) => {
    const { ids, reachedId } = await listIds(snapshot, filter, {
      isOver: () => performance.now() > endsAtMs,
      run: async (statement) => {
        if (signal?.aborted === true) throw clientGone();
        return (await inSteps(() => statement.execute(snapshot))).rows;
      },
    });
    if (reachedId !== undefined) throw new ApiError(400, searchTooLong);
    const events = await readEvents(snapshot, filter, ids);
    if (filter.order === "asc") events.reverse();
    return {
      events,
      progress: progress ? await readProgress(snapshot, events) : new Map(),
      replays: replays ? await latestReplays(snapshot, filter, ids) : new Map(),
      handoffs: handoffs ? await readHandoffs(snapshot, filter.orgId, events) : new Map(),
    };
  });
}

const searchTooLong = `no full page of matching events was found in ${maxSearchMs / 1000} seconds: narrow the time range with created_after and created_before`;

/** The ids of a page. */
export async function listIds(
  snapshot: Queries,
  filter: EventFilter,
  search: Partial<Search> = {},
): Promise<FoundIds> {
  const run: Search["run"] = async (statement) => (await statement.execute(snapshot)).rows;
  const full = { run, isOver: () => false, ...search };
  if (filter.targetId === undefined) return findIds(snapshot, filter, full);
  const kind = await ownedKind(snapshot, filter.orgId, filter.targetId);
  if (kind === undefined || !canHave(kind, filter)) return { ids: [] };
  if (filter.customerUid !== undefined && !(await isTargetOf(snapshot, filter))) return { ids: [] };
  // All items of the target belong to the customer.
  return findIds(snapshot, { ...filter, customerUid: undefined }, full);
}

async function isTargetOf(snapshot: Queries, { targetId, customerUid }: EventFilter): Promise<boolean> {
  const target = await snapshot
    .selectFrom("targets")
    .select("customer_uid")
    .where("id", "=", targetId!)
    .executeTakeFirst();
  return target?.customer_uid === customerUid;
}

function canHave(kind: TargetKind, { status, handoffState }: EventFilter): boolean {
  if (handoffState !== undefined && !isHandoff(kindNumbers[kind])) return false;
  if (status === undefined || status === "CANCELED" || status === "FILTERED") return true;
  return isMailboxStatus(status) === isPulled(kindNumbers[kind]);
}

/**
 * Runs several reads in one snapshot, so that all parts of a page agree. Turns off the plan types that read more than a page
 * needs: the planner estimates that few events have a derived status, and would sort all events of a target instead of reading
 * an index in order until the page is full.
 */
export async function inSnapshot<T>(queries: Queries, read: (snapshot: Queries) => Promise<T>): Promise<T> {
  return queries
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute(async (snapshot) => {
      await sql`
        select
          set_config('enable_sort', 'off', true),
          set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true),
          set_config('enable_hashjoin', 'off', true),
          set_config('jit', 'off', true)
      `.execute(snapshot);
      return read(snapshot);
    });
}
