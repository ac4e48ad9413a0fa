import type { Queries } from "../db/tables.ts";
import { type EventFilter, pageStatement } from "./pageStatement.ts";
import { ownsTarget, readEvents, type StoredEvent } from "./store.ts";

/** A page of an organization's events, newest first, all as of one moment. A foreign target has none. */
export async function listEvents(queries: Queries, filter: EventFilter): Promise<StoredEvent[]> {
  return inSnapshot(queries, async (snapshot) => {
    const { orgId, targetId } = filter;
    if (targetId !== undefined && !(await ownsTarget(snapshot, orgId, targetId))) return [];
    const { rows } = await pageStatement(filter).execute(snapshot);
    return readEvents(
      snapshot,
      orgId,
      rows.map((row) => row.id),
    );
  });
}

/** Runs several reads against one state of the database, so that a page and what it shows agree. */
export async function inSnapshot<T>(queries: Queries, read: (snapshot: Queries) => Promise<T>): Promise<T> {
  return queries.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(read);
}
