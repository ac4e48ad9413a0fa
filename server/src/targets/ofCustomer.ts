import { ApiError } from "../http/contract/errors.ts";
import { customerOf, type Scope } from "../http/contract/scope.ts";
import type { Queries } from "../postgres/tables.ts";
import { noSuchCustomer } from "./holdNames.ts";
import type { NewTarget, TargetChanges } from "./schemas.ts";
import type { StoredTarget, TargetFilter } from "./store.ts";

/** Whoever calls, as far as it matters here. */
interface Limited {
  orgId: string;
  scope?: Scope | undefined;
}

/** The filter of a list as far as its caller may see; undefined when that is nothing. */
export function withinReach(scope: Scope | undefined, filter: TargetFilter): TargetFilter | undefined {
  const own = customerOf(scope);
  if (own === undefined) return filter;
  const isOther = filter.customerUid !== undefined && filter.customerUid !== own;
  // To the portal a target has no uid, so that guesses at what the organization calls it find nothing.
  const isUnseen = scope?.kind === "portal" && filter.uid !== undefined;
  return isOther || isUnseen ? undefined : { ...filter, customerUid: own };
}

/** A new target as its caller may make it: of the customer to which the caller is limited. @throws {ApiError} 400, 403 */
export async function newWithinReach(
  queries: Queries,
  caller: Limited,
  input: NewTarget,
): Promise<NewTarget> {
  const own = customerOf(caller.scope);
  if (own === undefined) return input;
  if (input.customer_uid !== undefined) refuseOtherCustomer(own, input);
  await refuseOtherResults(queries, caller, input);
  if (caller.scope?.kind === "portal") refuseToPortal(input.kind, input);
  return { ...input, customer_uid: own };
}

/** Refuses changes that lead beyond the customer to which the caller is limited. @throws {ApiError} 400, 403 */
export async function refuseBeyondReach(
  queries: Queries,
  caller: Limited,
  present: Pick<StoredTarget, "kind">,
  changes: TargetChanges = {},
): Promise<void> {
  const own = customerOf(caller.scope);
  if (own === undefined) return;
  if (changes.customer_uid !== undefined) refuseOtherCustomer(own, changes);
  await refuseOtherResults(queries, caller, changes);
  if (caller.scope?.kind === "portal") refuseToPortal(present.kind, changes);
}

/** A target as its caller may see it: what an organization calls it and notes about it is not for its customers. */
export function asSeenBy(scope: Scope | undefined, target: StoredTarget): StoredTarget {
  return scope?.kind === "portal" ? { ...target, uid: null, metadata: null } : target;
}

/** Another customer is answered like one that is not there. */
function refuseOtherCustomer(own: string, { customer_uid: customerUid }: TargetChanges): void {
  if (customerUid !== own) throw noSuchCustomer(String(customerUid));
}

/** Results of an agent's tasks go to a target of the same customer, where the caller is limited to one. */
async function refuseOtherResults(
  queries: Queries,
  { orgId, scope }: Limited,
  { result_target_id: id }: Pick<TargetChanges, "result_target_id">,
): Promise<void> {
  if (id === undefined || id === null) return;
  const own = await queries
    .selectFrom("targets")
    .select("id")
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .where("customer_uid", "=", customerOf(scope)!)
    .executeTakeFirst();
  if (own === undefined) {
    throw new ApiError(400, "result_target_id must be a mailbox or webhook target of this workspace");
  }
}

/** What the organization alone says of a target; a publication is refused as a whole where one target takes less. */
const organizations = ["uid", "metadata", "max_payload_bytes"] as const;

/**
 * A portal has webhooks: mailboxes are read with API keys, which a customer has none of, and an agent is called with the
 * organization's word for it.
 */
function refuseToPortal(kind: string, input: Pick<TargetChanges, (typeof organizations)[number]>): void {
  if (kind !== "webhook") throw refused("in the portal only webhooks can be made, changed and deleted");
  const field = organizations.find((name) => input[name] !== undefined);
  if (field !== undefined) throw refused(`${field} is not the customer's to give`);
}

function refused(message: string): ApiError {
  return new ApiError(403, message, { code: "scope_refused" });
}
