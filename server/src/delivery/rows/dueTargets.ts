import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { bucketOf } from "../../postgres/ids.ts";
import type { ClaimCursor } from "./store.ts";

export interface DueTarget {
  id: string;
  orgId: string;
  /** Whether its deliveries have failed since its last success. */
  isFailing: boolean;
}

export interface DueTargets {
  /** In the order of the circle, starting at the cursor. */
  targets: DueTarget[];
  /** Cursor after the last target that was checked; undefined if that was the last target of the circle. */
  cursor: ClaimCursor | undefined;
}

/**
 * How many waiting targets one call checks, at some 8 µs each. A longer call would occupy a core that answers are waiting for.
 */
const maxTargetsPerLook = 256;

/** Finds the waiting targets that have due items, without claiming any. */
export async function dueTargets(pool: pg.Pool, cursor: ClaimCursor): Promise<DueTargets> {
  const rows = await callFunction(pool, "due_targets", {
    p_bucket: cursor.bucket,
    p_target: cursor.targetId,
    p_max_targets: maxTargetsPerLook,
  });
  const last = rows.at(-1)?.target_id ?? undefined;
  const isCircleClosed = rows.length < maxTargetsPerLook || last === undefined;
  return {
    targets: rows
      .filter((row) => row.is_due)
      .map((row) => ({ id: row.target_id!, orgId: row.org_id!, isFailing: row.is_failing! })),
    cursor: isCircleClosed ? undefined : { bucket: bucketOf(last), targetId: last },
  };
}
