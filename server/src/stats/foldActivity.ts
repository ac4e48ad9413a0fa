import type pg from "pg";
import { lockOfCell } from "../postgres/cells.ts";
import { inTransaction, tryLock } from "../postgres/pool.ts";
import { repeatWhileFull } from "../runtime/repeatWhileFull.ts";
import { stepsKept } from "./steps.ts";

const advisoryLockKey = 7_281_934_012;
const rowsPerStatement = 50_000;
/** Each of these rows has up to 64 targets. */
const publishedRowsPerStatement = 300;

/**
 * Folds rows of activity into steps of time. At any time, even after a crash, activity is counted either in a row or in a step.
 * Only one process folds at a time; in others the call returns at once. @returns the number of folded rows.
 */
export async function foldActivity(pool: pg.Pool, cellNumber: number = 0): Promise<number> {
  let total = 0;
  for (;;) {
    const folded = await inTransaction(pool, async (client) => {
      const key = lockOfCell(advisoryLockKey, cellNumber);
      if (!(await tryLock(client, key, "transaction"))) return undefined;
      const { rows } = await client.query<{ folded: number; is_more: boolean }>({
        name: "fold_activity",
        text: "select folded, is_more from fold_activity($1, $2, $3)",
        values: [rowsPerStatement, stepsKept.map(({ seconds }) => seconds), publishedRowsPerStatement],
      });
      return rows[0]!;
    });
    total += folded?.folded ?? 0;
    if (folded?.is_more !== true) return total;
  }
}

/** Deletes steps past their retention, which is longer for coarser steps. @returns the number of deleted steps. */
export async function forgetActivity(pool: pg.Pool): Promise<number> {
  let total = 0;
  for (const { seconds, keptSeconds } of stepsKept) {
    total += await repeatWhileFull(rowsPerStatement, async () => {
      const { rowCount } = await pool.query({
        name: "forget_activity",
        text: `delete from activity_steps
               where (scope_id, step, at) in (
                 select scope_id, step, at
                 from activity_steps
                 where step = $1
                   and at < extract(epoch from statement_timestamp())::bigint - $2
                 order by at
                 limit $3
               )`,
        values: [seconds, keptSeconds, rowsPerStatement],
      });
      return rowCount ?? 0;
    });
  }
  return total;
}
