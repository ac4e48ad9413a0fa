import type pg from "pg";
import { firstIdAt } from "../postgres/ids.ts";
import { type EraseDeps, eraseWithCopies } from "./eraseEvent.ts";
import { finishErasure, type StoredErasure } from "./store.ts";

const pageSize = 200;
/**
 * Ids carry the clock of the node that made them, and clocks differ: an event accepted before the request may have a
 * slightly later id. Later events are not erased.
 */
const clockAllowanceMs = 10_000;

/** The first id after the events of a request. */
function endOf(erasure: StoredErasure): string {
  return firstIdAt(erasure.created_at + clockAllowanceMs);
}

/**
 * Erases the next page of the events of a correlation id, in the order of their ids. Walks repeat until one finds nothing
 * to erase, because an event accepted meanwhile may have an earlier id. Progress is stored only if it is still what was
 * read (optimistic locking), so that two workers skip no event.
 * @returns how many events it erased; `busy` as `eraseWithCopies` does, and the page is repeated later.
 */
export async function eraseNextPage(deps: EraseDeps, erasure: StoredErasure): Promise<number | "busy"> {
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
  if (erased === "busy") return erased;
  const isEnd = rows.length < pageSize;
  if (isEnd) await emptyPublications(pool, erasure);
  if (!isEnd) await noteProgress(pool, erasure, rows.at(-1)!.id);
  else if (!(await beginAgain(pool, erasure))) await finishErasure(pool, erasure.id);
  return erased;
}

/** Erases the payloads of publications that reached no target: no event leads to them. */
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

/** Starts another walk when this one has erased something. @returns false when it has not: the erasure is complete. */
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
