import { isPulled } from "../postgres/kinds.ts";
import { sql } from "kysely";
import { idTimeMs } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { databaseNowMs } from "./statuses.ts";
import type { EventScope } from "./store.ts";

/** The payload of an event, or why there is none: a message may have expired in its mailbox. */
export type PayloadOutcome =
  | { outcome: "read"; payload: Buffer }
  | { outcome: "not_found" | "expired" | "erased" };

/** Reads the bytes of an event's item, as they were accepted. */
export async function readPayload(
  queries: Queries,
  { orgId, mailboxRetentionMs }: EventScope,
  id: string,
): Promise<PayloadOutcome> {
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
  if (event === undefined) return { outcome: "not_found" };
  if (isPulled(event.kind) && idTimeMs(id) < event.now_ms - mailboxRetentionMs) {
    return { outcome: "expired" };
  }
  // JSON has at least one byte.
  if (event.payload.length === 0) return { outcome: "erased" };
  return { outcome: "read", payload: event.payload };
}
