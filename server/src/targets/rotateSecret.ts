import { newSigningSecret } from "../items/signature.ts";
import { sealSigningSecret } from "../items/signingSecret.ts";
import { changeTarget, replaceSecret, type StoredTarget } from "./store.ts";
import type { TargetDeps } from "./targetDeps.ts";

/**
 * Gives a webhook target a new signing secret. The one it had signs beside it until it is deleted; one that was
 * already on its way out ends here, because receivers verify with at most two.
 */
export async function rotateSecret(
  deps: TargetDeps,
  orgId: string,
  id: string,
): Promise<{ target: StoredTarget; secret: string }> {
  const secret = newSigningSecret(deps.randomBytes);
  const sealed = sealSigningSecret(deps.box, id, secret);
  const target = await replaceSecret(deps.queries, { orgId, id }, sealed, nowSeconds(deps));
  deps.changes.publishTarget(orgId, id);
  return { target, secret };
}

/** Ends a rotation; without one nothing changes. */
export async function deletePreviousSecret(
  deps: TargetDeps,
  orgId: string,
  target: StoredTarget,
): Promise<void> {
  if (!target.has_previous_secret) return;
  await changeTarget(deps.queries, { orgId, id: target.id }, { previous_secret: null }, nowSeconds(deps));
  deps.changes.publishTarget(orgId, target.id);
}

function nowSeconds(deps: TargetDeps): number {
  return Math.floor(deps.nowMs() / 1000);
}
