import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { firstIdAt } from "../../postgres/ids.ts";
import { dayMs } from "../../postgres/partitions.ts";

const itemsPerCall = 2_000;

/**
 * Ends what still waits when its retention is over, such as items held for a target that nobody enabled: they read as
 * CANCELED until their day is dropped. In bounded transactions. @returns how many items there were.
 */
export async function cancelExpired(
  pool: pg.Pool,
  { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
): Promise<number> {
  const firstKeptDay = Math.floor(nowMs / dayMs) - retentionDays;
  const bounds = {
    p_from: firstIdAt(firstKeptDay * dayMs),
    p_before: firstIdAt(nowMs - retentionDays * dayMs),
  };
  for (let total = 0; ;) {
    const rows = await callFunction(pool, "cancel_expired_deliveries", { ...bounds, p_limit: itemsPerCall });
    const canceled = rows[0]!.cancel_expired_deliveries!;
    total += canceled;
    if (canceled < itemsPerCall) return total;
  }
}
