import type { Origin } from "../audit/origin.ts";
import { newSigningSecret } from "../items/signature.ts";
import { sealSigningSecret } from "../items/signingSecret.ts";
import { changeTarget, replaceSecret, type StoredTarget, type TargetChange } from "./store.ts";
import type { TargetDeps } from "./createTarget.ts";

/**
 * Gives a webhook target a new signing secret. The one it had signs beside it until it is deleted; one that was
 * already on its way out ends here, because receivers verify with at most two.
 */
export async function rotateSecret(
  deps: TargetDeps,
  origin: Origin,
  id: string,
): Promise<{ target: StoredTarget; secret: string }> {
  const secret = newSigningSecret(deps.randomBytes);
  const sealed = sealSigningSecret(deps.box, id, secret);
  const target = await replaceSecret(deps.queries, { origin, id }, sealed, nowSeconds(deps));
  deps.changes.publishTarget(origin.orgId, id);
  return { target, secret };
}

/** Ends a rotation; without one nothing changes. */
export async function deletePreviousSecret(
  deps: TargetDeps,
  origin: Origin,
  target: StoredTarget,
): Promise<void> {
  if (!target.has_previous_secret) return;
  const change: TargetChange = {
    origin,
    id: target.id,
    action: "target.previous_secret_deleted",
    beside: {
      before: { has_previous_signing_secret: true },
      after: { has_previous_signing_secret: false },
    },
  };
  await deps.queries
    .transaction()
    .execute((transaction) => changeTarget(transaction, change, { previous_secret: null }, nowSeconds(deps)));
  deps.changes.publishTarget(origin.orgId, target.id);
}

function nowSeconds(deps: TargetDeps): number {
  return Math.floor(deps.nowMs() / 1000);
}
