import { sql } from "kysely";
import { bucketOf } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";

/** Rows per statement: each holds its locks for some 20 ms. */
const chunkRows = 2_000;
/** How much of a backlog one request works through, some 2 s; beyond it see each function. */
const maxRowsPerRequest = 100_000;

/**
 * Settles what waits for a deleted target as CANCELED. Past the bound the claim goes on with the rest, which
 * reads as CANCELED all the same.
 */
export async function cancelDeliveries(queries: Queries, targetId: string): Promise<void> {
  for (let rows = 0; rows < maxRowsPerRequest; rows += chunkRows) {
    const { rows: answer } = await sql<{ canceled: number }>`
      select cancel_deliveries(${bucketOf(targetId)}, ${targetId}, ${chunkRows}) as canceled
    `.execute(queries);
    if ((answer[0]?.canceled ?? 0) < chunkRows) return;
  }
}

/** The same for the messages of a deleted mailbox, whoever holds them. */
export async function cancelMessages(queries: Queries, orgId: string, mailboxId: string): Promise<void> {
  for (let rows = 0; rows < maxRowsPerRequest; rows += chunkRows) {
    const { rows: answer } = await sql<{ canceled: number }>`
      select cancel_messages(${bucketOf(mailboxId)}, ${orgId}, ${mailboxId}, ${chunkRows}) as canceled
    `.execute(queries);
    if ((answer[0]?.canceled ?? 0) < chunkRows) return;
  }
}

/**
 * Gives what waits for a target its full schedule again, beginning at once. Past the bound, what is left keeps
 * the schedule it has: it is the part that is due last.
 */
export async function rescheduleWaiting(queries: Queries, targetId: string, nowMs: number): Promise<void> {
  let fromDueAtMs = 0;
  for (let rows = 0; rows < maxRowsPerRequest; rows += chunkRows) {
    const { rows: answer } = await sql<{ changed: number; last_due_at: number | null }>`
      select changed, last_due_at
      from reschedule_deliveries(${bucketOf(targetId)}, ${targetId}, ${fromDueAtMs}, ${nowMs}, ${chunkRows})
    `.execute(queries);
    const { changed, last_due_at: lastDueAtMs } = answer[0]!;
    if (changed < chunkRows || lastDueAtMs === null) return;
    fromDueAtMs = lastDueAtMs;
  }
}
