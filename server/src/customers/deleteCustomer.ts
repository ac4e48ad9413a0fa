import { sql } from "kysely";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";
import { afterRemoval, removeTargetIn } from "../targets/deleteTarget.ts";
import type { TargetDeps } from "../targets/record/kind.ts";
import type { StoredTarget } from "../targets/record/store.ts";
import { objectOf } from "./store.ts";

/** Maximum number of targets deleted in one transaction. A customer with fewer targets is deleted in one transaction. */
const maxAtOnce = 100;

interface Removed {
  targets: StoredTarget[];
  /** Whether the customer itself was deleted too. */
  isWhole: boolean;
}

/**
 * Deletes a customer and its targets; deliveries that are queued for the targets become CANCELED. A customer with many targets is
 * deleted in several transactions; the same request, repeated, continues after an interruption.
 * @returns the number of deleted targets; undefined when the organization has no such customer.
 */
export async function deleteCustomer(
  deps: TargetDeps,
  origin: Origin,
  uid: string,
): Promise<number | undefined> {
  for (let count = 0; ;) {
    const removed = await removeSome(deps, origin, uid);
    if (removed === undefined) return undefined;
    for (const target of removed.targets) await afterRemoval(deps, origin.orgId, target);
    count += removed.targets.length;
    if (removed.isWhole) return count;
  }
}

function removeSome(deps: TargetDeps, origin: Origin, uid: string): Promise<Removed | undefined> {
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  return inTransactionOf(deps.queries, async (transaction): Promise<Removed | undefined> => {
    // Locked for update: adding a target to the customer takes a conflicting share lock.
    const customer = await transaction
      .selectFrom("customers")
      .selectAll()
      .where("org_id", "=", origin.orgId)
      .where("uid", "=", uid)
      .forUpdate()
      .executeTakeFirst();
    if (customer === undefined) return undefined;
    const ids = await targetsOf(transaction, origin.orgId, uid);
    const targets: StoredTarget[] = [];
    for (const id of ids) {
      const target = await removeTargetIn(transaction, { origin, id }, nowSeconds);
      if (target !== undefined) targets.push(target);
    }
    const isWhole = ids.length < maxAtOnce;
    if (isWhole) {
      await deleteKeysOf(transaction, origin, uid);
      await deletePortalAccess(transaction, origin.orgId, uid);
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

/** Deletes the customer's portal links and sessions. Foreign keys would do so, but databases with Citus do not have them. */
async function deletePortalAccess(transaction: Queries, orgId: string, uid: string): Promise<void> {
  await sql`delete from portal_links where org_id = ${orgId} and customer_uid = ${uid}`.execute(transaction);
  await sql`delete from portal_sessions where org_id = ${orgId} and customer_uid = ${uid}`.execute(
    transaction,
  );
}

/** Deletes the keys that are limited to the customer, so that they do not apply to a later customer with the same uid. */
async function deleteKeysOf(transaction: Queries, origin: Origin, uid: string): Promise<void> {
  const keys = await transaction
    .selectFrom("api_keys")
    .select(["id", "name"])
    .where("org_id", "=", origin.orgId)
    .where("customer_uid", "=", uid)
    .orderBy("id")
    // Waits for another request that deletes one of the keys and records this.
    .forUpdate()
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
