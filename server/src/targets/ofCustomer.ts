import type { Caller } from "../http/contract/credentials.ts";
import { customerOf, type Scope } from "../http/contract/scope.ts";
import type { TargetKind } from "../postgres/kinds.ts";
import type { Queries } from "../postgres/tables.ts";
import { kindNamed, kindNames } from "./kinds.ts";
import { noSuchCustomer } from "./record/names.ts";
import { invalid, type Refused } from "./record/refusal.ts";
import type { StoredTarget, TargetFilter } from "./record/store.ts";
import type { NewTarget, TargetChanges } from "./schemas.ts";

/** The filter of a list, restricted to targets that its caller may see; undefined when there are none. */
export function withinReach(scope: Scope | undefined, filter: TargetFilter): TargetFilter | undefined {
  const own = customerOf(scope);
  if (own === undefined) return filter;
  const isOther = filter.customerUid !== undefined && filter.customerUid !== own;
  // The portal does not see the uids of targets, so a customer must not find targets by guessing uids.
  const isUnseen = scope?.kind === "portal" && filter.uid !== undefined;
  return isOther || isUnseen ? undefined : { ...filter, customerUid: own };
}

/** The input for a new target, which belongs to the customer to which the caller is limited. */
export async function newWithinReach(
  queries: Queries,
  caller: Caller,
  input: NewTarget,
): Promise<{ ok: true; input: NewTarget } | Refused> {
  const own = customerOf(caller.scope);
  if (own === undefined) return { ok: true, input };
  const refused = await refuseBeyondReach(queries, caller, input, input);
  return refused ?? { ok: true, input: { ...input, customer_uid: own } };
}

/** Refuses changes that affect anything outside the customer to which the caller is limited. */
export async function refuseBeyondReach(
  queries: Queries,
  caller: Caller,
  { kind }: { kind: TargetKind },
  changes: TargetChanges = {},
): Promise<Refused | undefined> {
  const own = customerOf(caller.scope);
  if (own === undefined) return undefined;
  const { customer_uid: customerUid } = changes;
  if (customerUid === null)
    return invalid("customer_uid cannot be null: your targets belong to your customer");
  // Another customer gets the same refusal as a customer that does not exist.
  if (customerUid !== undefined && customerUid !== own) return invalid(noSuchCustomer(customerUid));
  return (
    (await refuseOtherResults(queries, caller, changes)) ??
    (caller.scope?.kind === "portal" ? refuseToPortal(kind, changes) : undefined)
  );
}

/** A target in the form that its caller may see. The organization's uid and metadata are not shown in the portal. */
export function asSeenBy(scope: Scope | undefined, target: StoredTarget): StoredTarget {
  return scope?.kind === "portal" ? { ...target, uid: null, metadata: null } : target;
}

/** Refuses a result target that does not belong to the customer to which the caller is limited. */
async function refuseOtherResults(
  queries: Queries,
  { orgId, scope }: Caller,
  { result_target_id: id }: Pick<TargetChanges, "result_target_id">,
): Promise<Refused | undefined> {
  if (id === undefined || id === null) return undefined;
  const own = await queries
    .selectFrom("targets")
    .select("id")
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .where("customer_uid", "=", customerOf(scope)!)
    .executeTakeFirst();
  return own === undefined
    ? invalid("result_target_id must be a mailbox or webhook target of this organization")
    : undefined;
}

/** Fields that only the organization may set. If one target has a low `max_payload_bytes`, the whole publication is refused. */
const organizationFields = ["uid", "metadata", "max_payload_bytes"] as const;

/**
 * Refuses, in a customer's portal, the organization's fields and kinds that the portal does not offer: reading a mailbox needs
 * an API key, which customers do not have, and an agent is called with the organization's authority.
 */
function refuseToPortal(name: TargetKind, input: TargetChanges): Refused | undefined {
  if (!kindNamed(name).isInPortal) {
    const taken = kindNames((kind) => kind.isInPortal, "and");
    return outOfScope(`in the portal only ${taken}s can be created, changed and deleted`);
  }
  const field = organizationFields.find((one) => input[one] !== undefined);
  return field === undefined ? undefined : outOfScope(`a customer may not set ${field}`);
}

function outOfScope(message: string): Refused {
  return { ok: false, refusal: { kind: "out_of_scope", message } };
}
