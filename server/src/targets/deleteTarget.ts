import type { Origin } from "../audit/origin.ts";
import { bucketOf } from "../postgres/ids.ts";
import { functionQuery, inTransactionOf, type Queries } from "../postgres/tables.ts";
import { holdsItems, kindNamed } from "./kinds.ts";
import type { TargetDeps } from "./record/kind.ts";
import { gone, type Refused } from "./record/refusal.ts";
import { deleteTargetRow, type StoredTarget } from "./record/store.ts";
import { cancelDeliveries, cancelMessages } from "./waitingItems.ts";

type RemovalDeps = Pick<TargetDeps, "queries" | "changes" | "nowMs"> & {
  log: Pick<TargetDeps["log"], "warn">;
};

/**
 * Deletes a target. From then on, all items that wait for it read as CANCELED, because the target is gone. Their rows are
 * canceled here, up to a bound; the claim cancels further deliveries, and further messages stay until they expire.
 */
export async function deleteTarget(
  deps: RemovalDeps,
  origin: Origin,
  id: string,
): Promise<{ ok: true } | Refused> {
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const removed = await inTransactionOf(deps.queries, (transaction) =>
    removeTargetIn(transaction, { origin, id }, nowSeconds),
  );
  if (removed === undefined) return gone;
  await afterRemoval(deps, origin.orgId, removed);
  return { ok: true };
}

/**
 * Removes a target within a transaction, and cancels its leased deliveries, so that no attempt in flight changes their status
 * afterwards. Returns undefined when the organization has no such target.
 */
export async function removeTargetIn(
  transaction: Queries,
  { origin, id }: { origin: Origin; id: string },
  nowSeconds: number,
): Promise<StoredTarget | undefined> {
  const removed = await deleteTargetRow(transaction, { origin, id });
  if (removed === undefined) return undefined;
  await kindNamed(removed.kind).remove?.(transaction, id, nowSeconds);
  if (holdsItems(removed.kind)) {
    await functionQuery("cancel_leased_deliveries", { p_bucket: bucketOf(id), p_target: id }).execute(
      transaction,
    );
  }
  return removed;
}

/**
 * Cancels, up to a bound, the items that still wait for a target whose removal is committed. An error is only logged, because
 * the deletion succeeded: the claim cancels the remaining deliveries, and the remaining messages expire.
 */
export async function afterRemoval(
  deps: Omit<RemovalDeps, "nowMs">,
  orgId: string,
  { id, kind }: StoredTarget,
): Promise<void> {
  deps.changes.publishTarget(orgId, id);
  const canceling = holdsItems(kind)
    ? cancelDeliveries(deps.queries, id)
    : cancelMessages(deps.queries, orgId, id);
  await canceling.catch((error: unknown) =>
    deps.log.warn(
      { err: error, target_id: id },
      "items of a deleted target could not be canceled; they read as CANCELED, and their rows are removed later",
    ),
  );
}
