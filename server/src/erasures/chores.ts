import { randomBytes } from "node:crypto";
import type pg from "pg";
import { eraseNextPage } from "./eraseCorrelated.ts";
import { type EraseDeps, eraseOne } from "./eraseEvent.ts";
import { runningErasures } from "./store.ts";

/** The longest run, so that a stop of the process does not have to wait for all erasures. */
const runMs = 2_000;
/** Requests that are carried out by turns, one page each. */
const maxAtOnce = 20;

/**
 * Carries on all unfinished erasures by turns, including those that a crashed process began.
 * @returns how many events were erased.
 * @throws {Error} when other transactions held an event at every attempt; the next run tries again.
 */
export async function carryOnErasures(deps: EraseDeps): Promise<number> {
  const endsAtMs = performance.now() + runMs;
  let erased = 0;
  for (;;) {
    const running = await runningErasures(deps.pool, maxAtOnce);
    if (running.length === 0) return erased;
    for (const erasure of running) {
      if (performance.now() > endsAtMs) return erased;
      const outcome =
        erasure.event_id === null ? await eraseNextPage(deps, erasure) : await eraseOne(deps, erasure);
      if (outcome === "busy") throw new Error(`erasure ${erasure.id}: an event is changed over and over`);
      if (outcome !== "done") erased += outcome;
    }
  }
}

const maxDigests = 500;

/**
 * Overwrites the body digests of erased items in the idempotency keys, one bucket at a time: a repeated request with such a
 * key is then answered 409. @returns how many items were looked up.
 */
export async function eraseDigests(pool: pg.Pool): Promise<number> {
  let total = 0;
  for (;;) {
    const { rows } = await pool.query<{ bucket: number; event_id: string }>({
      name: "erased_digests",
      text: `select d.bucket, d.event_id
             from erased_digests d
             where d.bucket = (select min(bucket) from erased_digests)
             limit $1`,
      values: [maxDigests],
    });
    if (rows.length === 0) return total;
    const bucket = rows[0]!.bucket;
    const ids = rows.map(({ event_id: id }) => id);
    await pool.query({
      name: "erase_digests",
      text: `update idempotency_keys
             set body_digest = $3
             where bucket = $1
               and event_id = any ($2::uuid[])`,
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
  }
}
