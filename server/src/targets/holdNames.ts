import { sql } from "kysely";
import { ApiError } from "../http/contract/errors.ts";
import { isPathUid } from "./uid.ts";
import type { Queries } from "../postgres/tables.ts";

interface Names {
  id?: string | undefined;
  uid?: string | null | undefined;
  customer_uid?: string | null | undefined;
}

/**
 * Before a target is stored: no other may have its uid, and its customer stays until the transaction ends. Locks are taken
 * before the target's own, as whoever deletes a customer does, so that the two cannot deadlock.
 * @throws {ApiError} 400 when there is no such customer, 409 when the uid is another target's.
 */
export async function holdNames(
  transaction: Queries,
  orgId: string,
  { id, uid, customer_uid: customerUid }: Names,
): Promise<void> {
  if (typeof customerUid === "string") {
    const customer = await transaction
      .selectFrom("customers")
      .select("id")
      .where((row) => row.and({ org_id: orgId, uid: customerUid }))
      .forKeyShare()
      .executeTakeFirst();
    if (customer === undefined) throw noSuchCustomer(customerUid);
  }
  if (typeof uid !== "string") return;
  // An advisory lock until the transaction ends: whoever wants the same uid at the same time waits, and then sees it.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`target uid ${orgId} ${uid}`}, 0))`.execute(
    transaction,
  );
  const other = await transaction
    .selectFrom("targets")
    .select("id")
    .where((row) => row.and({ org_id: orgId, uid }))
    .executeTakeFirst();
  if (other !== undefined && other.id !== id) {
    throw new ApiError(409, "uid is another target's already", { code: "uid_taken" });
  }
}

/** 400 for a customer_uid of nobody. */
export function noSuchCustomer(uid: string): ApiError {
  return new ApiError(
    400,
    `customer_uid: no customer ${isPathUid(uid) ? uid : "of this name"}; create it first with PUT /api/v1/customers/:uid`,
  );
}
