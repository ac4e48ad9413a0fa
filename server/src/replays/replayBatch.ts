import { acceptedStatus, isPulled } from "../postgres/kinds.ts";
import { sql } from "kysely";
import { announceItems } from "../items/announceItems.ts";
import type { EventFilter } from "../events/eventFilter.ts";
import { inSnapshot, listIds } from "../events/listEvents.ts";
import type { ReplayDeps } from "../events/replayEvent.ts";
import { readEvents, type StoredEvent } from "../events/store.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { idArray } from "../postgres/hot/binaryArray.ts";
import { bucketOf, idTimeMs, newId } from "../postgres/ids.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { functionQuery, type Queries } from "../postgres/tables.ts";
import type { ClaimedReplay } from "./store.ts";
import { pageFilter, withoutReplayed } from "./replayFilter.ts";

export interface BatchDeps extends Omit<ReplayDeps, "clock"> {
  clock: Pick<ClockCheck, "mayMakeItems">;
  /**
   * Time limit of one batch's search for events that no index covers, milliseconds; the next batch continues it. A snapshot keeps
   * vacuum from removing dead rows.
   */
  searchMs?: number;
}

/** Finds the next events of a set, as far as the search comes in its time. */
export function searchFor(
  { searchMs = 1_000 }: Pick<BatchDeps, "searchMs">,
  snapshot: Queries,
  page: EventFilter,
) {
  const endsAtMs = performance.now() + searchMs;
  return listIds(snapshot, page, { isOver: () => performance.now() >= endsAtMs });
}

export type BatchOutcome = "advanced" | "finished" | "lost";

/** Number of items: a batch has about a quarter of a second's items, at most `most`. */
const batch = { most: 100, perSecond: 4 };
/**
 * Number of items that may wait for a target before a replay adds more, so that new items wait behind at most this many. A
 * target with more is checked again after a pause.
 */
const backlog = { most: 200, againAfterMs: 500 };

/** The events of a page to replay, and counts of the others. */
interface Page {
  cursor: string;
  isLast: boolean;
  sources: StoredEvent[];
  waiting: number;
  /** Whether so much waits for the target that nothing should be added. */
  isBusy: boolean;
}

/**
 * Replays the next events of a claimed job at its target in one small transaction that also stores the job's progress, and
 * releases the job. After a crash before the commit nothing has changed; after the commit, the next batch starts behind this
 * one.
 */
export async function replayBatch(deps: BatchDeps, job: ClaimedReplay): Promise<BatchOutcome> {
  const page = await readPage(deps, job);
  const sourceIds = page.sources.map(({ id }) => id);
  const advance = functionQuery("advance_replay", {
    p_replay: job.id,
    p_lease_token: job.leaseToken,
    p_target: job.targetId,
    p_from: job.cursor,
    p_to: page.cursor,
    p_is_last: page.isLast,
    p_wait_ms: page.isBusy ? backlog.againAfterMs : 0,
    p_waiting: page.waiting,
    p_source_ids: idArray(sourceIds),
    p_ids: idArray(newIds(deps, job, sourceIds.length)),
    p_mailbox_retention_ms: deps.config.mailboxRetentionMs,
  });
  const { rows } = await withPartitions(deps.pool, () => advance.execute(deps.queries));
  const { code, made_ids: madeIds, is_finished: isFinished } = rows[0]!;
  if (code === "l") return "lost";
  // Both lists have the same length, unless an event expired between the two statements.
  const items = (madeIds as string[]).map((id, index) => {
    const { kind, eventType } = page.sources[index]!;
    return { id, targetId: job.targetId, eventType, status: acceptedStatus(kind) };
  });
  announceItems(deps, items);
  return isFinished ? "finished" : "advanced";
}

async function readPage(deps: BatchDeps, job: ClaimedReplay): Promise<Page> {
  const { filter, targetId, orgId, until } = job;
  const scope = { orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
  const limit = Math.max(1, Math.min(batch.most, Math.ceil(job.ratePerSecond / batch.perSecond)));
  return inSnapshot(deps.queries, async (snapshot) => {
    if (await isBusy(snapshot, targetId)) {
      return { cursor: job.cursor, isLast: false, sources: [], waiting: 0, isBusy: true };
    }
    const wanted = pageFilter({ filter, targetId, scope }, { after: job.cursor, until, limit });
    const { ids, reachedId } = await searchFor(deps, snapshot, wanted);
    const kept = await withoutReplayed(snapshot, job, scope, ids);
    const events = (await readEvents(snapshot, scope, kept)).reverse();
    const waiting = events.filter((event) => wasWaiting(event, job));
    return {
      cursor: reachedId ?? ids.at(-1) ?? job.cursor,
      isLast: reachedId === undefined && ids.length < limit,
      sources: events.filter((event) => !waiting.includes(event)),
      // In a set selected by status, a waiting event does not belong to the set.
      waiting: filter.status === undefined ? waiting.length : 0,
      isBusy: false,
    };
  });
}

/** Whether a target has so many due items that new ones would wait long. Items held by a disabled target delay nothing. */
async function isBusy(snapshot: Queries, targetId: string): Promise<boolean> {
  const { rows } = await sql<{ is_busy: boolean }>`
    select
      exists (select from targets t where t.id = ${targetId} and t.enabled)
      and (
        select coalesce(sum(w.items), 0)
        from (
          select cardinality(d.event_ids) as items
          from deliveries d
          where d.bucket = ${bucketOf(targetId)}
            and d.target_id = ${targetId}
            and d.lease_until is null
            and d.due_at <= extract(epoch from now()) * 1000
          order by d.due_at
          limit ${backlog.most}
        ) w
      ) >= ${backlog.most} as is_busy
  `.execute(snapshot);
  return rows[0]!.is_busy;
}

/** Whether an event had not ended, or did not have the requested status yet, when the job was started. */
function wasWaiting(event: StoredEvent, { createdAtMs, filter }: ClaimedReplay): boolean {
  const { status, changedAtMs, kind } = event;
  if (status === "QUEUED" || status === "RETRYING") return true;
  const isChanged = changedAtMs !== null && changedAtMs > createdAtMs;
  // A message is replayed in any state, unless the filter has a status.
  return isChanged && (!isPulled(kind) || filter.status !== undefined);
}

/**
 * Returns ids in ascending order like those of the sources, and above the ids of the whole set even if this node's clock is
 * behind.
 */
function newIds(
  { nowMs }: BatchDeps,
  { targetId, createdAtMs, until }: ClaimedReplay,
  count: number,
): string[] {
  const atMs = Math.max(nowMs(), createdAtMs, idTimeMs(until)) + 1;
  return Array.from({ length: count }, () => newId(bucketOf(targetId), atMs)).sort();
}
