import type { Origin } from "../audit/origin.ts";
import { newSigningSecret } from "../items/signature.ts";
import { sealSigningSecret } from "../items/signingSecret.ts";
import { changeTarget, replaceSecret, type StoredTarget, type TargetChange } from "./store.ts";
import { importedSecret, type TargetDeps } from "./createTarget.ts";
import type { Rotation } from "./schemas.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";

/**
 * Gives a webhook target a new signing secret: a fresh one, or one that its receiver knows. The one it had signs beside it
 * until it is deleted, or until its time is over; one that was already on its way out ends here, because receivers verify
 * with at most two.
 * @throws {ApiError} 400 when the secret is none, 404 when the target is gone.
 */
export async function rotateSecret(
  deps: TargetDeps,
  origin: Origin,
  id: string,
  { secret: known, previous_secret_ends_in_seconds: endsIn }: Rotation = {},
): Promise<{ target: StoredTarget; secret: string }> {
  const secret = known === undefined ? newSigningSecret(deps.randomBytes) : importedSecret(known);
  const now = nowSeconds(deps);
  const newSecret = {
    sealed: sealSigningSecret(deps.box, id, secret),
    previousUntil: endsIn === undefined ? null : now + endsIn,
  };
  const target = await replaceSecret(deps.queries, { origin, id }, newSecret, now);
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
  await inTransactionOf(deps.queries, (transaction) =>
    dropPreviousSecret(transaction, origin, target.id, nowSeconds(deps)),
  );
  deps.changes.publishTarget(origin.orgId, target.id);
}

async function dropPreviousSecret(
  transaction: Queries,
  origin: Origin,
  id: string,
  nowSeconds: number,
): Promise<void> {
  const change: TargetChange = {
    origin,
    id,
    action: "target.previous_secret_deleted",
    beside: {
      before: { has_previous_signing_secret: true },
      after: { has_previous_signing_secret: false },
    },
  };
  const changes = { previous_secret: null, previous_secret_until: null };
  await changeTarget(transaction, change, changes, nowSeconds);
}

const maxEndedAtOnce = 100;

/** Ends the rotations whose time is over, for maintenance. @returns how many. */
export async function endRotations(queries: Queries, nowMs: number): Promise<number> {
  const now = Math.floor(nowMs / 1000);
  return inTransactionOf(queries, async (transaction) => {
    const over = await transaction
      .selectFrom("targets")
      .select(["id", "org_id"])
      .where("previous_secret_until", "<=", now)
      .limit(maxEndedAtOnce)
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    for (const { id, org_id: orgId } of over) {
      const actor = { kind: "service", name: "a rotation that ends by itself" } as const;
      await dropPreviousSecret(transaction, { orgId, actor }, id, now);
    }
    return over.length;
  });
}

function nowSeconds(deps: TargetDeps): number {
  return Math.floor(deps.nowMs() / 1000);
}
