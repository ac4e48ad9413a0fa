import { sql } from "kysely";
import type { Queries } from "../../postgres/tables.ts";
import { isPathUid } from "./names.ts";
import { invalid, type Refused } from "./refusal.ts";

interface Names {
  id?: string | undefined;
  uid?: string | null | undefined;
  customer_uid?: string | null | undefined;
}

/**
 * Called before a target's row is written: no other target may have its uid, and its customer stays until the transaction
 * ends. Locks the customer before the target, as the deletion of a customer does, so that the two cannot deadlock.
 * @returns why the names cannot be had: there is no such customer, or the uid is another target's.
 */
export async function holdNames(
  transaction: Queries,
  orgId: string,
  { id, uid, customer_uid: customerUid }: Names,
): Promise<Refused | undefined> {
  if (typeof customerUid === "string") {
    const customer = await transaction
      .selectFrom("customers")
      .select("id")
      .where((row) => row.and({ org_id: orgId, uid: customerUid }))
      .forKeyShare()
      .executeTakeFirst();
    if (customer === undefined) return invalid(noSuchCustomer(customerUid));
  }
  if (typeof uid !== "string") return undefined;
  // An advisory lock until the transaction ends: another transaction that wants the same uid waits, and then sees it.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`target uid ${orgId} ${uid}`}, 0))`.execute(
    transaction,
  );
  const other = await transaction
    .selectFrom("targets")
    .select("id")
    .where((row) => row.and({ org_id: orgId, uid }))
    .executeTakeFirst();
  return other === undefined || other.id === id ? undefined : { ok: false, refusal: { kind: "uid_taken" } };
}

/** Why a customer_uid is refused that no customer has. */
export function noSuchCustomer(uid: string): string {
  return `customer_uid: no customer ${isPathUid(uid) ? uid : "of this name"}; create it first with PUT /api/v1/customers/:uid`;
}
