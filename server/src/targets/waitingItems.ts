import { sql } from "kysely";
import { bucketOf } from "../postgres/ids.ts";
import { functionQuery, type Queries } from "../postgres/tables.ts";

/** Rows per statement: each holds its locks for some 20 ms. */
const chunkRows = 2_000;
/** How much of a backlog one request works through, some 2 s; beyond it see each function. */
const maxRowsPerRequest = 100_000;

/** Runs a step per chunk until a step says that it was the last, or the request has worked through its bound. */
async function inChunks(isLast: () => Promise<boolean>): Promise<void> {
  for (let rows = 0; rows < maxRowsPerRequest; rows += chunkRows) if (await isLast()) return;
}

/** Cancels what waits for a deleted target. Past the bound the claim cancels the rest, which reads as CANCELED meanwhile. */
export async function cancelDeliveries(queries: Queries, targetId: string): Promise<void> {
  await inChunks(async () => (await cancelChunk(queries, targetId)) < chunkRows);
}

/** Cancels the messages of a deleted mailbox, also those that consumers have claimed. */
export async function cancelMessages(queries: Queries, orgId: string, mailboxId: string): Promise<void> {
  await inChunks(async () => {
    const { rows: answer } = await functionQuery("cancel_messages", {
      p_bucket: bucketOf(mailboxId),
      p_org: orgId,
      p_mailbox: mailboxId,
      p_limit: chunkRows,
    }).execute(queries);
    return answer[0]!.cancel_messages! < chunkRows;
  });
}

/** @returns how many items were canceled. */
async function cancelChunk(queries: Queries, targetId: string): Promise<number> {
  const { rows } = await functionQuery("cancel_deliveries", {
    p_bucket: bucketOf(targetId),
    p_target: targetId,
    p_limit: chunkRows,
  }).execute(queries);
  return rows[0]!.cancel_deliveries!;
}

const maxDiscardMs = 20_000;

/**
 * Cancels everything that waits for a disabled target, and says how many items that were. Items under way or in a node's memory
 * at this moment do not wait. Not whole when more waits than one request can discard: the next one goes on.
 */
export async function discardWaiting(
  queries: Queries,
  targetId: string,
): Promise<{ isWhole: boolean; items: number }> {
  const endsAtMs = performance.now() + maxDiscardMs;
  for (let items = 0; ;) {
    const canceled = await cancelChunk(queries, targetId);
    items += canceled;
    if (canceled < chunkRows) return { isWhole: true, items };
    if (performance.now() > endsAtMs) return { isWhole: false, items };
  }
}

/** Rows that a count reads, some 100 ms. */
const maxCountedRows = 100_000;

/** How many items wait for a target. Beyond 100,000 rows, only the items of the rows that are due first. */
export async function countWaiting(queries: Queries, targetId: string): Promise<number> {
  const { rows } = await sql<{ items: number }>`
    select coalesce(sum(cardinality(w.event_ids)), 0)::integer as items
    from (
      select d.event_ids
      from deliveries d
      where d.bucket = ${bucketOf(targetId)}
        and d.target_id = ${targetId}
        and d.lease_until is null
      order by d.due_at
      limit ${maxCountedRows}
    ) w
  `.execute(queries);
  return rows[0]!.items;
}

/**
 * Gives what waits for a target its full retry schedule again, beginning at once by the database's clock. Rows past the bound, which
 * are due last, keep the schedule they have.
 */
export async function rescheduleWaiting(queries: Queries, targetId: string): Promise<void> {
  let fromDueAtMs = 0;
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms
  `.execute(queries);
  const nowMs = rows[0]!.ms;
  await inChunks(async () => {
    const { rows: answer } = await functionQuery("reschedule_deliveries", {
      p_bucket: bucketOf(targetId),
      p_target: targetId,
      p_from_due_at: fromDueAtMs,
      p_now_ms: nowMs,
      p_limit: chunkRows,
    }).execute(queries);
    const { changed, last_due_at: lastDueAtMs } = answer[0]!;
    fromDueAtMs = lastDueAtMs ?? fromDueAtMs;
    return changed! < chunkRows || lastDueAtMs === null;
  });
}
