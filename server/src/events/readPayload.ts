import { isPulled } from "../postgres/kinds.ts";
import { sql } from "kysely";
import { idTimeMs } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { databaseNowMs } from "./statuses.ts";
import type { EventScope } from "./store.ts";

/**
 * The bytes of an event's item, as they were accepted.
 * @throws {ApiError} 404 when the organization has no such event, 410 for a message that has expired in its
 * mailbox, and once the payload was erased.
 */
export async function readPayload(
  queries: Queries,
  { orgId, mailboxRetentionMs }: EventScope,
  id: string,
): Promise<Buffer> {
  const { rows } = await sql<{ kind: number; now_ms: number; payload: Buffer }>`
    select
      e.kind,
      ${databaseNowMs} as now_ms,
      stored_payload(e.publication_id, e.payload) as payload
    from events e
    where e.org_id = ${orgId}
      and e.id = ${id}
  `.execute(queries);
  const event = rows[0];
  if (event === undefined) throw notFound();
  if (isPulled(event.kind) && idTimeMs(id) < event.now_ms - mailboxRetentionMs) {
    throw new ApiError(410, "the message has expired, and its payload with it", { code: "payload_gone" });
  }
  // JSON has at least one byte.
  if (event.payload.length === 0) {
    throw new ApiError(410, "the payload was erased", { code: "payload_gone" });
  }
  return event.payload;
}
