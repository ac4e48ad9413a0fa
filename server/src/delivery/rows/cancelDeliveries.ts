import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { firstIdAt } from "../../postgres/ids.ts";
import { dayMs } from "../../postgres/partitions.ts";
import { repeatWhileFull } from "../../runtime/repeatWhileFull.ts";
import { waitingTargets } from "./waitingTargets.ts";

const maxTargetsPerRun = 100;
const rowsPerCall = 5_000;
const itemsPerCall = 2_000;

/**
 * Cancels deliveries that wait for deleted targets. Correctness does not depend on it: such events read as canceled as soon as
 * the target is deleted; this only cleans up the hot table. @returns the number of canceled deliveries.
 */
export async function cancelOrphans(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ bucket: number; target_id: string }>(
    `with recursive ${waitingTargets}
     select w.bucket, w.target_id
     from waiting w
     where w.bucket >= 0
       and not exists (select from targets t where t.id = w.target_id)
     limit $1`,
    [maxTargetsPerRun],
  );
  let canceled = 0;
  for (const { bucket, target_id } of rows) {
    for (;;) {
      const [answer] = await callFunction(pool, "cancel_deliveries", {
        p_bucket: bucket,
        p_target: target_id,
        p_limit: rowsPerCall,
      });
      const count = answer!.cancel_deliveries!;
      canceled += count;
      if (count < rowsPerCall) break;
    }
  }
  return canceled;
}

/**
 * Cancels items that still wait when their retention ends, such as items held for a target that was never enabled. They read as
 * CANCELED until their day's partition is dropped. Runs in bounded transactions. @returns the number of canceled items.
 */
export function cancelExpired(
  pool: pg.Pool,
  { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
): Promise<number> {
  const firstKeptDay = Math.floor(nowMs / dayMs) - retentionDays;
  const bounds = {
    p_from: firstIdAt(firstKeptDay * dayMs),
    p_before: firstIdAt(nowMs - retentionDays * dayMs),
  };
  return repeatWhileFull(itemsPerCall, async () => {
    const rows = await callFunction(pool, "cancel_expired_deliveries", { ...bounds, p_limit: itemsPerCall });
    return rows[0]!.cancel_expired_deliveries!;
  });
}
