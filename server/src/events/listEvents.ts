import { sql } from "kysely";
import { isHandoff, isPulled, kindNumbers, type TargetKind } from "../postgres/kinds.ts";
import type { Queries } from "../postgres/tables.ts";
import type { EventFilter } from "./eventFilter.ts";
import { findIds, type Run } from "./findIds.ts";
import { type Progress, readProgress } from "./progress.ts";
import { latestReplays } from "./replaysOf.ts";
import { ApiError } from "../http/contract/errors.ts";
import { isMailboxStatus } from "../items/eventStatuses.ts";
import { restBetween } from "../runtime/restBetween.ts";
import { ownedKind, readEvents, type StoredEvent } from "./store.ts";

export interface EventPage {
  events: StoredEvent[];
  /** By event; empty unless it was asked for. */
  progress: ReadonlyMap<string, Progress>;
  /** The latest replay of each event that has any; empty unless they were asked for. */
  replays: ReadonlyMap<string, StoredEvent>;
}

/** Further parts of a page to read, and the signal that ends the search. */
interface ListOptions {
  progress?: boolean;
  replays?: boolean;
  signal?: AbortSignal;
  searchMs?: number;
}

/** How long events may be searched for a page: the snapshot keeps dead rows from being removed for as long. */
const maxSearchMs = 10_000;

/** For the steps of a search, of up to 5,000 events each. */
export const searchRests = { undisturbedMs: 20, maxRestMs: 200 };

/**
 * A page of an organization's events, all as of one moment. A foreign target has none.
 * @throws {ApiError} 400 when the filters fit too few events to find a page of them in time.
 */
export async function listEvents(
  queries: Queries,
  filter: EventFilter,
  { progress = false, replays = false, signal, searchMs = maxSearchMs }: ListOptions = {},
): Promise<EventPage> {
  const endsAtMs = performance.now() + searchMs;
  const inSteps = restBetween(searchRests);
  let steps = 0;
  return inSnapshot(queries, async (snapshot) => {
    const ids = await listIds(snapshot, filter, async (statement) => {
      if (signal?.aborted === true) throw new ApiError(503, "the client is gone", { retryAfterSeconds: 1 });
      if (steps++ > 0 && performance.now() > endsAtMs) throw searchTooLong();
      return (await inSteps(() => statement.execute(snapshot))).rows;
    });
    const events = await readEvents(snapshot, filter, ids);
    if (filter.order === "asc") events.reverse();
    return {
      events,
      progress: progress ? await readProgress(snapshot, events) : new Map(),
      replays: replays ? await latestReplays(snapshot, filter, ids) : new Map(),
    };
  });
}

function searchTooLong(): ApiError {
  const seconds = maxSearchMs / 1000;
  return new ApiError(
    400,
    `no page of events that fit was found in ${seconds} seconds: give a shorter range of time (created_after, created_before)`,
  );
}

/** The ids of a page, in order. */
export async function listIds(
  snapshot: Queries,
  filter: EventFilter,
  run: Run = async (statement) => (await statement.execute(snapshot)).rows,
): Promise<string[]> {
  if (filter.targetId !== undefined) {
    const kind = await ownedKind(snapshot, filter.orgId, filter.targetId);
    if (kind === undefined || !canHave(kind, filter)) return [];
    if (filter.customerUid !== undefined && !(await isTargetOf(snapshot, filter))) return [];
    // All items of the target are the customer's.
    return findIds(snapshot, { ...filter, customerUid: undefined }, run);
  }
  return findIds(snapshot, filter, run);
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
 * Runs several reads against one state of the database, so that a page and what it shows agree. The planner takes
 * a derived status for rare and would rather sort a whole target than walk an index in its order until the page is
 * full; it is told to do without what reads more than a page needs.
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
