import { sql } from "kysely";
import { bucketOf } from "../postgres/ids.ts";
import { functionQuery, type Queries } from "../postgres/tables.ts";

/** Rows per statement: each holds its locks for some 20 ms. */
const chunkRows = 2_000;
/** The most rows that one request changes, in some 2 s. Each function below says what happens to further rows. */
const maxRowsPerRequest = 100_000;

/** Runs a step per chunk until a step returns that it was the last, or until the bound of a request is reached. */
async function inChunks(isLast: () => Promise<boolean>): Promise<void> {
  for (let rows = 0; rows < maxRowsPerRequest; rows += chunkRows) if (await isLast()) return;
}

/** Cancels deliveries of a deleted target. The claim cancels those beyond the bound, which read as CANCELED until then. */
export async function cancelDeliveries(queries: Queries, targetId: string): Promise<void> {
  await inChunks(async () => (await cancelChunk(queries, targetId)) < chunkRows);
}

/** Cancels the messages of a deleted mailbox, including claimed ones. */
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
 * Cancels all items that wait for a disabled target, and returns their number. Items that are being sent or are leased by a node
 * do not count as waiting. `isWhole` is false when more items wait than one request can discard; the next request continues.
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

/** The most rows that a count reads, in some 100 ms. */
const maxCountedRows = 100_000;

/** The number of items that wait for a target. Counts only the 100,000 rows that are due first. */
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
 * Gives the items that wait for a target the full retry schedule again, beginning now by the database's clock. Rows beyond the
 * bound, which are due last, keep their schedule.
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
