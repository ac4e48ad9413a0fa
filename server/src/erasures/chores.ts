import { randomBytes } from "node:crypto";
import type pg from "pg";
import { type EraseDeps, eraseOne, eraseWithCopies } from "./eraseEvent.ts";
import { finishErasure, nextErasure, type StoredErasure } from "./store.ts";
import { firstIdAt, unknownId } from "../postgres/ids.ts";

/** Maximum time of a run, so that a stop of the process does not wait for all erasures. */
const runMs = 2_000;

/**
 * Returns a function that carries out all unfinished erasures, including those that a crashed process began. The organizations
 * take turns (round robin), with one page of one erasure each. Each run begins after the organization that had the last turn, so
 * that a failing erasure, or many erasures of one organization, do not delay others. The function returns the number of erased
 * events.
 * @throws the first error of an erasure, after the other erasures had their turns; the next run tries again.
 */
export function carryingOnErasures(deps: EraseDeps): () => Promise<number> {
  let lastOrgId = unknownId;
  return async () => {
    const endsAtMs = performance.now() + runMs;
    const failures = new Map<string, unknown>();
    let erased = 0;
    while (performance.now() < endsAtMs) {
      const erasure = await nextErasure(deps.pool, lastOrgId, [...failures.keys()]);
      if (erasure === undefined) break;
      lastOrgId = erasure.org_id;
      try {
        erased += await carryOn(deps, erasure);
      } catch (error) {
        failures.set(erasure.id, error);
      }
    }
    for (const error of failures.values()) throw error;
    return erased;
  };
}

async function carryOn(deps: EraseDeps, erasure: StoredErasure): Promise<number> {
  const outcome =
    erasure.event_id === null ? await eraseNextPage(deps, erasure) : await eraseOne(deps, erasure);
  if (outcome === "busy")
    throw new Error(`erasure ${erasure.id}: an event stayed locked by other transactions`);
  return outcome === "done" ? 0 : outcome;
}

const maxDigests = 10_000;

/**
 * Overwrites the body digests of erased items in the idempotency keys, one bucket at a time; a repeated request with such a
 * key is then answered with 409. Each statement reads all keys of a bucket, so items that are erased meanwhile wait for the next
 * run. @returns the number of items looked up.
 */
export async function eraseDigests(pool: pg.Pool): Promise<number> {
  let total = 0;
  for (let doneTo = -1; ;) {
    const { rows } = await pool.query<{ bucket: number; event_id: string }>({
      name: "erased_digests",
      text: `select d.bucket, d.event_id
             from erased_digests d
             where d.bucket = (select min(bucket) from erased_digests where bucket > $2)
             limit $1`,
      values: [maxDigests, doneTo],
    });
    if (rows.length === 0) return total;
    const bucket = rows[0]!.bucket;
    const ids = rows.map(({ event_id: id }) => id);
    await pool.query({
      name: "erase_digests",
      // A join, because a generic plan compares each key with each element of an array.
      text: `update idempotency_keys k
             set body_digest = $3
             from unnest($2::uuid[]) as i (id)
             where k.bucket = $1
               and k.event_id = i.id`,
      values: [bucket, ids, randomBytes(16).toString("hex")],
    });
    await pool.query({
      name: "forget_erased_digests",
      text: `delete from erased_digests
             where bucket = $1
               and event_id = any ($2::uuid[])`,
      values: [bucket, ids],
    });
    total += ids.length;
    if (ids.length < maxDigests) doneTo = bucket;
  }
}

const pageSize = 200;
/**
 * Tolerance for differing clocks: an id contains the time of the node that made it, so an event accepted before the request
 * may have a slightly later id. Events with later ids are not erased.
 */
export const clockAllowanceMs = 10_000;

/** The first id after those of the events to erase. */
function endOf(erasure: StoredErasure): string {
  return firstIdAt(erasure.created_at + clockAllowanceMs);
}

/**
 * Erases the next page of the events of a correlation id, in the order of their ids. Walks through all events are repeated
 * until one finds nothing to erase, because an event that was accepted during a walk may have an earlier id. Progress is
 * stored only if it has not changed since it was read (optimistic locking), so that two workers skip no event.
 * @returns the number of erased events; `busy` as `eraseWithCopies` does, and the page is repeated later.
 */
async function eraseNextPage(deps: EraseDeps, erasure: StoredErasure): Promise<number | "busy"> {
  const { pool } = deps;
  if (erasure.total === null && erasure.walked_to === null) await countEvents(pool, erasure);
  const { rows } = await pool.query<{ id: string }>({
    name: "page_of_erasure",
    text: `select e.id
           from events e
           where e.org_id = $1
             and e.correlation_id = $2
             and e.id > coalesce($3, '00000000-0000-0000-0000-000000000000'::uuid)
             and e.id < $4
           order by e.id
           limit $5`,
    values: [erasure.org_id, erasure.correlation_id, erasure.walked_to, endOf(erasure), pageSize],
  });
  const ids = rows.map(({ id }) => id);
  const erased = await eraseWithCopies(deps, erasure, ids);
  if (erased === "busy") return erased;
  const isEnd = ids.length < pageSize;
  if (isEnd) await emptyPublications(pool, erasure);
  if (!isEnd) await noteProgress(pool, erasure, ids.at(-1)!);
  else if (!(await beginAgain(pool, erasure))) await finishErasure(pool, erasure.id);
  return erased;
}

const publicationsPerPage = 1_000;

/** Erases the payloads of publications that reached no target, which have no events. */
async function emptyPublications(pool: pg.Pool, erasure: StoredErasure): Promise<void> {
  const set = [erasure.org_id, erasure.correlation_id, endOf(erasure)];
  let after: string | undefined = unknownId;
  while (after !== undefined) {
    const last = await lastOfPage(pool, [...set, after]);
    await pool.query({
      name: "erase_publications",
      text: `with emptied as (
               update publications p
               set payload = ''
               where p.org_id = $1
                 and p.correlation_id = $2
                 and p.id < $3
                 and p.id > $4
                 and p.id <= coalesce($5, $3)
                 and p.event_ids = '{}'
                 and octet_length(p.payload) > 0
               returning p.bucket, p.id
             )
             insert into erased_digests (bucket, event_id)
             select e.bucket, e.id
             from emptied e
             on conflict do nothing`,
      values: [...set, after, last],
    });
    after = last;
  }
}

/** The last id of a full page of publications; undefined at the end. */
async function lastOfPage(pool: pg.Pool, range: readonly unknown[]): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>({
    name: "page_of_publications",
    text: `select p.id
           from publications p
           where p.org_id = $1
             and p.correlation_id = $2
             and p.id < $3
             and p.id > $4
           order by p.id
           limit 1
           offset $5`,
    values: [...range, publicationsPerPage - 1],
  });
  return rows[0]?.id;
}

/** More events are counted by the first walk, because one statement that counts them could exceed its time limit. */
const maxCounted = 10_000;

async function countEvents(pool: pg.Pool, erasure: StoredErasure): Promise<void> {
  await pool.query({
    name: "count_for_erasure",
    text: `update erasures x
           set total = (
             select case when count(*) <= $5 then count(*) end
             from (
               select
               from events e
               where e.org_id = $2
                 and e.correlation_id = $3
                 and e.id < $4
                 and e.erasure_id is null
               limit $5 + 1
             ) c
           )
           where x.id = $1
             and x.total is null`,
    values: [erasure.id, erasure.org_id, erasure.correlation_id, endOf(erasure), maxCounted],
  });
}

async function noteProgress(pool: pg.Pool, erasure: StoredErasure, walkedTo: string): Promise<void> {
  await pool.query({
    name: "note_erasure_progress",
    text: `update erasures
           set walked_to = $3
           where id = $1
             and walked_to is not distinct from $2`,
    values: [erasure.id, erasure.walked_to, walkedTo],
  });
}

/** Starts another walk if this one has erased anything. @returns false if it has not, so that the erasure is complete. */
async function beginAgain(pool: pg.Pool, erasure: StoredErasure): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "begin_erasure_again",
    text: `update erasures
           set walked_to = null,
             walk_erased = 0,
             -- Events accepted during the walk can make erased exceed the first count.
             total = greatest(total, erased)
           where id = $1
             and status = 'RUNNING'
             and (walk_erased > 0 or walked_to is distinct from $2)`,
    values: [erasure.id, erasure.walked_to],
  });
  return rowCount === 1;
}
