import type pg from "pg";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { bucketOf } from "../postgres/ids.ts";
import { finishErasure, type StoredErasure } from "./store.ts";
import type { Parts } from "../items/parts.ts";

export interface EraseDeps extends Pick<Parts, "pool" | "onMailboxItems"> {
  mailboxRetentionMs: number;
}

/** Carries out the erasure of one event. `busy`: see {@link eraseWithCopies}; the erasure stays unfinished. */
export async function eraseOne(deps: EraseDeps, erasure: StoredErasure): Promise<"done" | "busy"> {
  const erased = await eraseWithCopies(deps, erasure, [erasure.event_id!]);
  if (erased === "busy") return erased;
  await finishErasure(deps.pool, erasure.id);
  return "done";
}

/**
 * Erases events, their replays (and the replays of these), and the results of their handoffs. Also looks up copies of events
 * that are already erased, because a process may have died before it erased the copies.
 * @returns the number of erased events; `busy` when other transactions had locked an event at every attempt.
 */
export async function eraseWithCopies(
  deps: EraseDeps,
  erasure: StoredErasure,
  ids: readonly string[],
): Promise<number | "busy"> {
  const known = new Set<string>();
  let erased = 0;
  let next = ids;
  while (next.length > 0) {
    for (const id of next) {
      known.add(id);
      const outcome = await eraseEvent(deps, erasure, id);
      if (outcome === "busy") return outcome;
      if (outcome === "erased") erased++;
    }
    next = (await copiesOf(deps.pool, erasure.org_id, next)).filter((id) => !known.has(id));
  }
  return erased;
}

/** Maximum number of attempts to erase an event that another transaction has locked. */
const maxTries = 50;

/**
 * Erases the payload and answers of one event. Only one of two concurrent calls erases it.
 * @returns `unchanged` when another call has erased the event, or there is no such event.
 */
async function eraseEvent(
  deps: EraseDeps,
  erasure: Pick<StoredErasure, "id" | "org_id">,
  eventId: string,
): Promise<"erased" | "unchanged" | "busy"> {
  for (let tries = 1; ; tries++) {
    const rows = await callFunction(deps.pool, "erase_event", {
      p_erasure: erasure.id,
      p_org: erasure.org_id,
      p_id: eventId,
      p_retention_ms: deps.mailboxRetentionMs,
    });
    const { code, mailbox_id: mailboxId } = rows[0]!;
    if (mailboxId !== null) deps.onMailboxItems([mailboxId]);
    if (code !== "b") return code === "e" ? "erased" : "unchanged";
    if (tries === maxTries) return "busy";
  }
}

/** Finds the replays of these events and the results of their handoffs, erased or not. */
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

/** Maximum difference between the clock of the node that made a result and the database's, which set the end of the handoff. */
const clockToleranceMs = 10 * 60_000;

/**
 * Sets `result_event_id` of handoffs that an older version ended without it. The result is the unbilled event that was created
 * at the handoff's end and has the id of the handoff's event in its payload; so this must run before the payload is erased.
 */
async function nameResults(pool: pg.Pool, orgId: string, ids: readonly string[]): Promise<void> {
  const { rows } = await pool.query<{ bucket: number; event_id: string; result_id: string }>({
    name: "find_results",
    text: `select h.bucket, h.event_id, e.id as result_id
           from unnest($2::uuid[], $3::smallint[]) as i (id, bucket), handoffs h, events e
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
  if (rows.length === 0) return;
  await pool.query({
    name: "name_results",
    text: `update handoffs h
           set result_event_id = i.result_id
           from unnest($1::smallint[], $2::uuid[], $3::uuid[]) as i (bucket, event_id, result_id)
           where h.bucket = i.bucket
             and h.event_id = i.event_id
             and h.result_event_id is null`,
    values: [
      rows.map((row) => row.bucket),
      rows.map((row) => row.event_id),
      rows.map((row) => row.result_id),
    ],
  });
}
