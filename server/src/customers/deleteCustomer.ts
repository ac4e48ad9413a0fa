import { type TargetKind } from "../postgres/kinds.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { noneNamed } from "../http/contract/errors.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";
import type { TargetDeps } from "../targets/createTarget.ts";
import { afterRemoval } from "../targets/deleteTarget.ts";
import { removeTargetIn } from "../targets/store.ts";
import { objectOf } from "./store.ts";

/** Targets that one transaction deletes. A customer with no more of them goes in one step. */
const maxAtOnce = 100;

interface Removed {
  targets: { id: string; kind: TargetKind }[];
  /** Whether the customer is gone, too. */
  isWhole: boolean;
}

/**
 * Deletes a customer and its targets; what is queued for these becomes CANCELED. One with very many is deleted in several
 * transactions, and the same request goes on where one was cut off.
 * @returns how many targets were deleted.
 * @throws {ApiError} 404 when the organization has no such customer.
 */
export async function deleteCustomer(deps: TargetDeps, origin: Origin, uid: string): Promise<number> {
  let count = 0;
  for (;;) {
    const { targets, isWhole } = await removeSome(deps, origin, uid);
    for (const target of targets) await afterRemoval(deps, origin.orgId, target);
    count += targets.length;
    if (isWhole) return count;
  }
}

function removeSome(deps: TargetDeps, origin: Origin, uid: string): Promise<Removed> {
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  return inTransactionOf(deps.queries, async (transaction): Promise<Removed> => {
    // Nobody gives it another target meanwhile: that takes a share of this lock.
    const customer = await transaction
      .selectFrom("customers")
      .selectAll()
      .where("org_id", "=", origin.orgId)
      .where("uid", "=", uid)
      .forUpdate()
      .executeTakeFirst();
    if (customer === undefined) throw noneNamed("customer", uid);
    const ids = await targetsOf(transaction, origin.orgId, uid);
    const targets: Removed["targets"] = [];
    for (const id of ids) {
      targets.push({ id, kind: await removeTargetIn(transaction, { origin, id }, nowSeconds) });
    }
    const isWhole = ids.length < maxAtOnce;
    if (isWhole) {
      await deleteKeysOf(transaction, origin, uid);
      await transaction.deleteFrom("customers").where("id", "=", customer.id).execute();
      await recordChange(transaction, origin, {
        action: "customer.deleted",
        object: objectOf(customer),
        before: { uid, name: customer.name, metadata: customer.metadata },
      });
    }
    return { targets, isWhole };
  });
}

/** The keys that are limited to a customer go with it: one of the same uid that is made later is another. */
async function deleteKeysOf(transaction: Queries, origin: Origin, uid: string): Promise<void> {
  const keys = await transaction
    .selectFrom("api_keys")
    .select(["id", "name"])
    .where("org_id", "=", origin.orgId)
    .where("customer_uid", "=", uid)
    .execute();
  for (const { id, name } of keys) {
    await recordChange(transaction, origin, {
      action: "key.deleted",
      object: { kind: "key", id, name },
      before: { name, scope: "customer", customer_uid: uid },
    });
    await transaction.deleteFrom("api_keys").where("id", "=", id).execute();
  }
}

async function targetsOf(transaction: Queries, orgId: string, uid: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom("targets")
    .select("id")
    .where("org_id", "=", orgId)
    .where("customer_uid", "=", uid)
    .orderBy("id")
    .limit(maxAtOnce)
    .forUpdate()
    .execute();
  return rows.map(({ id }) => id);
}
