import { type TargetKind } from "../postgres/kinds.ts";
import { sql } from "kysely";
import type { Queries } from "../postgres/tables.ts";
import type { EventFilter } from "./eventFilter.ts";
import { findIds, type Run } from "./findIds.ts";
import { type Progress, readProgress } from "./progress.ts";
import { replaysOf } from "./replaysOf.ts";
import { isMailboxStatus } from "../items/eventStatuses.ts";
import { ownedKind, readEvents, type StoredEvent } from "./store.ts";

/** A page of a list. */
export interface EventPage {
  events: StoredEvent[];
  /** By event; empty unless it was asked for. */
  progress: ReadonlyMap<string, Progress>;
  /** By event, newest first; empty unless they were asked for. */
  replays: ReadonlyMap<string, readonly StoredEvent[]>;
}

/** A page of an organization's events, all as of one moment. A foreign target has none. */
export async function listEvents(
  queries: Queries,
  filter: EventFilter,
  wants = { progress: false, replays: false },
): Promise<EventPage> {
  return inSnapshot(queries, async (snapshot) => {
    const ids = await listIds(
      snapshot,
      filter,
      async (statement) => (await statement.execute(snapshot)).rows,
    );
    const events = await readEvents(snapshot, filter, ids);
    if (filter.order === "asc") events.reverse();
    return {
      events,
      progress: wants.progress ? await readProgress(snapshot, events) : new Map(),
      replays: wants.replays ? await replaysOf(snapshot, filter, ids) : new Map(),
    };
  });
}

/** The ids of a page, in order. */
export async function listIds(snapshot: Queries, filter: EventFilter, run: Run): Promise<string[]> {
  if (filter.targetId !== undefined) {
    const kind = await ownedKind(snapshot, filter.orgId, filter.targetId);
    if (kind === undefined || !canHave(kind, filter)) return [];
    if (filter.customerUid !== undefined && !(await isTargetOf(snapshot, filter))) return [];
    // What the target has is the customer's, all of it.
    return findIds(snapshot, { ...filter, customerUid: undefined }, run);
  }
  return findIds(snapshot, filter, run);
}

/** Whether the filter's target belongs to its customer. */
async function isTargetOf(snapshot: Queries, { targetId, customerUid }: EventFilter): Promise<boolean> {
  const target = await snapshot
    .selectFrom("targets")
    .select("customer_uid")
    .where("id", "=", targetId!)
    .executeTakeFirst();
  return target?.customer_uid === customerUid;
}

function canHave(kind: TargetKind, { status, handoffState }: EventFilter): boolean {
  if (handoffState !== undefined && kind !== "a2a") return false;
  if (status === undefined || status === "CANCELED" || status === "FILTERED") return true;
  return isMailboxStatus(status) === (kind === "mailbox");
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
