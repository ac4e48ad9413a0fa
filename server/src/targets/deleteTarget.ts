import { type TargetKind } from "../postgres/kinds.ts";
import type { Origin } from "../audit/origin.ts";
import { isId } from "../postgres/ids.ts";
import { notFound } from "../http/contract/errors.ts";
import { removeTarget } from "./store.ts";
import type { TargetDeps } from "./createTarget.ts";
import { cancelDeliveries, cancelMessages } from "./waitingItems.ts";

/**
 * Deletes a target. From the same moment whatever is queued for it reads as CANCELED, because the target is gone;
 * the rows are canceled here and, past a bound, by the claim (messages: when they expire).
 * @throws {ApiError} 404 when the organization has no such target.
 */
export async function deleteTarget(deps: TargetDeps, origin: Origin, id: string): Promise<void> {
  if (!isId(id)) throw notFound();
  const kind = await removeTarget(deps.queries, { origin, id }, Math.floor(deps.nowMs() / 1000));
  await afterRemoval(deps, origin.orgId, { id, kind });
}

/** Cancels what is still queued for a target that was removed, up to a bound. */
export async function afterRemoval(
  deps: TargetDeps,
  orgId: string,
  { id, kind }: { id: string; kind: TargetKind },
): Promise<void> {
  deps.changes.publishTarget(orgId, id);
  await (kind === "mailbox" ? cancelMessages(deps.queries, orgId, id) : cancelDeliveries(deps.queries, id));
}
