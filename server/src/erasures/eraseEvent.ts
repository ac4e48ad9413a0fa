import type pg from "pg";
import { ApiError } from "../http/contract/errors.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { bucketOf } from "../postgres/ids.ts";
import { finishErasure, type StoredErasure } from "./store.ts";

export interface EraseDeps {
  pool: pg.Pool;
  mailboxRetentionMs: number;
  /** Tells those who wait for messages, and who watches, that these mailboxes have changed. */
  onMailboxItems: (mailboxIds: string[]) => void;
}

/** Carries out the request for one event. */
export async function eraseOne(deps: EraseDeps, erasure: StoredErasure): Promise<void> {
  await eraseWithCopies(deps, erasure, [erasure.event_id!]);
  await finishErasure(deps.pool, erasure.id);
}

/**
 * Erases events, their replays and theirs, and the results of their handoffs. Copies are looked for also of those that are
 * erased already, because a process may have died between the two. @returns how many it erased.
 */
export async function eraseWithCopies(
  deps: EraseDeps,
  erasure: StoredErasure,
  ids: readonly string[],
): Promise<number> {
  const known = new Set<string>();
  let erased = 0;
  let next = ids;
  while (next.length > 0) {
    for (const id of next) {
      known.add(id);
      if (await eraseEvent(deps, erasure, id)) erased++;
    }
    next = (await copiesOf(deps.pool, erasure.org_id, next)).filter((id) => !known.has(id));
  }
  return erased;
}

/** An item that another transaction has for a moment is asked for again so often. */
const maxTries = 50;

/**
 * Erases one event for a request: what it held is gone when this resolves. Two callers erase it once.
 * @returns whether it was this call that did it.
 * @throws {ApiError} 503 when the item does not hold still.
 */
async function eraseEvent(
  deps: EraseDeps,
  erasure: Pick<StoredErasure, "id" | "org_id">,
  eventId: string,
): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    const rows = await callFunction(deps.pool, "erase_event", {
      p_erasure: erasure.id,
      p_org: erasure.org_id,
      p_id: eventId,
      p_retention_ms: deps.mailboxRetentionMs,
    });
    const { code, mailbox_id: mailboxId } = rows[0]!;
    if (mailboxId !== null) deps.onMailboxItems([mailboxId]);
    if (code !== "b") return code === "e";
    if (tries === maxTries) {
      throw new ApiError(503, "the item is being changed over and over: the erasure goes on by itself", {
        retryAfterSeconds: 1,
      });
    }
  }
}

/** The events that hold what these held, or what their agents made of it, erased or not. */
async function copiesOf(pool: pg.Pool, orgId: string, ids: readonly string[]): Promise<string[]> {
  await nameResults(pool, orgId, ids);
  const { rows } = await pool.query<{ id: string }>({
    name: "find_copies",
    text: `select e.id
           from events e
           where e.org_id = $1
             and e.source_event_id is not null
             and e.source_event_id = any ($2::uuid[])
           union
           select h.result_event_id
           from unnest($2::uuid[], $3::smallint[]) as i (id, bucket)
           join handoffs h on h.bucket = i.bucket and h.event_id = i.id
           where h.result_event_id is not null`,
    values: [orgId, ids, ids.map(bucketOf)],
  });
  return rows.map(({ id }) => id);
}

/** So far may the clock of the node that made a result be from the database's, which noted the task's end. */
const clockToleranceMs = 10 * 60_000;

/**
 * A handoff that an older version ended does not name the result that travelled on. It is the one that names the handoff,
 * made at the moment of its end, and not billed; it is written down before it is erased, because it cannot be told afterwards.
 */
async function nameResults(pool: pg.Pool, orgId: string, ids: readonly string[]): Promise<void> {
  await pool.query({
    name: "name_results",
    text: `update handoffs h
           set result_event_id = e.id
           from unnest($2::uuid[], $3::smallint[]) as i (id, bucket), events e
           where h.bucket = i.bucket
             and h.event_id = i.id
             and h.outcome is not null
             and h.result_event_id is null
             and e.org_id = $1
             and e.event_type is not null
             and e.event_type collate "C" = 'handoff.' || lower(h.outcome)
             and e.id between first_id_at(h.updated_at - $4::bigint) and first_id_at(h.updated_at + $4::bigint)
             and not e.billable
             and e.source_event_id is null
             and position(
               convert_to('"event_id":"' || replace(h.event_id::text, '-', '') || '"', 'UTF8') in e.payload
             ) > 0`,
    values: [orgId, ids, ids.map(bucketOf), clockToleranceMs],
  });
}
