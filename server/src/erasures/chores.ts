import { randomBytes } from "node:crypto";
import type pg from "pg";
import { eraseNextPage } from "./eraseCorrelated.ts";
import { type EraseDeps, eraseOne } from "./eraseEvent.ts";
import { runningErasures } from "./store.ts";

/** How long one run goes on with what there is, so that a stop need not wait. */
const runMs = 2_000;
/** Requests that take turns, a page each. */
const maxAtOnce = 20;

/**
 * Carries on all requests that are not done, in turns. Also those that a process which died had begun.
 * @returns how many events were erased.
 */
export async function carryOnErasures(deps: EraseDeps): Promise<number> {
  const endsAtMs = performance.now() + runMs;
  let erased = 0;
  for (;;) {
    const running = await runningErasures(deps.pool, maxAtOnce);
    if (running.length === 0) return erased;
    for (const erasure of running) {
      if (performance.now() > endsAtMs) return erased;
      if (erasure.event_id === null) erased += await eraseNextPage(deps, erasure);
      else await eraseOne(deps, erasure);
    }
  }
}

const maxDigests = 500;

/**
 * Overwrites what idempotency keys know of the bodies of erased items, a bucket at a time: a repeated request is then
 * answered 409. @returns how many items were looked for.
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
