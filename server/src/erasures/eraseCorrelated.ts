import type pg from "pg";
import { firstIdAt } from "../postgres/ids.ts";
import { type EraseDeps, eraseWithCopies } from "./eraseEvent.ts";
import { finishErasure, type StoredErasure } from "./store.ts";

const pageSize = 200;
/**
 * Nodes' clocks differ, and ids carry them: what was accepted up to the request may have an id from a little later. What
 * comes after that is not erased.
 */
const clockAllowanceMs = 10_000;

/** The first id that a request does not reach. */
function endOf(erasure: StoredErasure): string {
  return firstIdAt(erasure.created_at + clockAllowanceMs);
}

/**
 * Carries a request for a correlation id on by one page of its events, in the order of their ids. Walks repeat until one
 * has found nothing left, because what is accepted meanwhile may come before what was walked. The page that was reached is
 * written down only from the one that was read, so that two workers do not pass over any.
 * @returns how many events it erased.
 */
export async function eraseNextPage(deps: EraseDeps, erasure: StoredErasure): Promise<number> {
  const { pool } = deps;
  if (erasure.total === null) await countEvents(pool, erasure);
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
  const erased = await eraseWithCopies(
    deps,
    erasure,
    rows.map(({ id }) => id),
  );
  const isEnd = rows.length < pageSize;
  if (isEnd) await emptyPublications(pool, erasure);
  if (!isEnd) await noteProgress(pool, erasure, rows.at(-1)!.id);
  else if (!(await beginAgain(pool, erasure))) await finishErasure(pool, erasure.id);
  return erased;
}

/** Also of publications that reached nobody, and so have no item by which they would be found. */
async function emptyPublications(pool: pg.Pool, erasure: StoredErasure): Promise<void> {
  await pool.query({
    name: "erase_publications",
    text: `with emptied as (
             update publications p
             set payload = ''
             where p.org_id = $1
               and p.correlation_id = $2
               and p.id < $3
               and p.event_ids = '{}'
               and octet_length(p.payload) > 0
             returning p.bucket, p.id
           )
           insert into erased_digests (bucket, event_id)
           select e.bucket, e.id
           from emptied e
           on conflict do nothing`,
    values: [erasure.org_id, erasure.correlation_id, endOf(erasure)],
  });
}

async function countEvents(pool: pg.Pool, erasure: StoredErasure): Promise<void> {
  await pool.query({
    name: "count_for_erasure",
    text: `update erasures x
           set total = (
             select count(*)
             from events e
             where e.org_id = $2
               and e.correlation_id = $3
               and e.id < $4
               and e.erasure_id is null
           )
           where x.id = $1
             and x.total is null`,
    values: [erasure.id, erasure.org_id, erasure.correlation_id, endOf(erasure)],
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

/** Starts another walk when this one has erased something. @returns false when it has not, and all is done. */
async function beginAgain(pool: pg.Pool, erasure: StoredErasure): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "begin_erasure_again",
    text: `update erasures
           set walked_to = null,
             walk_erased = 0,
             -- More than were counted, when some came meanwhile.
             total = greatest(total, erased)
           where id = $1
             and status = 'RUNNING'
             and (walk_erased > 0 or walked_to is distinct from $2)`,
    values: [erasure.id, erasure.walked_to],
  });
  return rowCount === 1;
}
