import { sql } from "kysely";
import type { Queries, TargetKind } from "../postgres/tables.ts";
import { mailboxPage, unreadCountStatement } from "./mailboxPage.ts";
import { type EventFilter, eventsWalk, type IdStatement, pageStatement } from "./pageStatement.ts";
import { ownedKind, readEvents, type StoredEvent } from "./store.ts";
import { isMailboxStatus } from "./statuses.ts";

/** A page of an organization's events, newest first, all as of one moment. A foreign target has none. */
export async function listEvents(queries: Queries, filter: EventFilter): Promise<StoredEvent[]> {
  return inSnapshot(queries, async (snapshot) => {
    const statement = await choosePage(snapshot, filter);
    if (statement === undefined) return [];
    const { rows } = await statement.execute(snapshot);
    return readEvents(
      snapshot,
      filter,
      rows.map((row) => row.id),
    );
  });
}

/** The cheapest statement for a page, see {@link pageStatement}; undefined when no event can match. */
export async function choosePage(snapshot: Queries, filter: EventFilter): Promise<IdStatement | undefined> {
  const { status, targetId, correlationId } = filter;
  if (targetId !== undefined) {
    const kind = await ownedKind(snapshot, filter.orgId, targetId);
    if (kind === undefined || !canHave(kind, status)) return undefined;
  }
  if (correlationId !== undefined) return eventsWalk(filter);
  if (!isMailboxStatus(status)) return pageStatement(filter, status);
  if (status !== "UNREAD") return mailboxPage(filter, status, 0);
  const { rows } = await unreadCountStatement(filter).execute(snapshot);
  return mailboxPage(filter, status, rows[0]!.count);
}

function canHave(kind: TargetKind, status: EventFilter["status"]): boolean {
  if (status === undefined || status === "CANCELED") return true;
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
