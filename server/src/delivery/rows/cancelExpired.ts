import type pg from "pg";
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
  const bounds = [firstIdAt(firstKeptDay * dayMs), firstIdAt(nowMs - retentionDays * dayMs)];
  for (let total = 0; ;) {
    const { rows } = await pool.query<{ canceled: number }>({
      name: "cancel_expired_deliveries",
      text: "select cancel_expired_deliveries($1, $2, $3) as canceled",
      values: [...bounds, itemsPerCall],
    });
    const { canceled } = rows[0]!;
    total += canceled;
    if (canceled < itemsPerCall) return total;
  }
}
