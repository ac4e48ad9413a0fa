import type pg from "pg";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { bucketOf } from "../../postgres/ids.ts";
import type { ClaimCursor } from "./store.ts";

export interface DueTarget {
  id: string;
  orgId: string;
  /** Its deliveries have failed since it last took one. */
  isFailing: boolean;
}

export interface DueTargets {
  /** In the order of the circle, from the cursor on. */
  targets: DueTarget[];
  /** The cursor behind the last target that was looked at; undefined when that was the last one of the circle. */
  cursor: ClaimCursor | undefined;
}

/** How many waiting targets one look passes, some 8 µs each: a longer look holds a core that answers are waiting for. */
const maxTargetsPerLook = 256;

/** Looks, without taking anything, which targets have something due. */
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
