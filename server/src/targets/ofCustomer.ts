import type { Caller } from "../http/contract/credentials.ts";
import { customerOf, type Scope } from "../http/contract/scope.ts";
import type { Queries } from "../postgres/tables.ts";
import { findKind, kindNames } from "./kinds.ts";
import { noSuchCustomer } from "./record/names.ts";
import { invalid, type Refused } from "./record/refusal.ts";
import type { StoredTarget, TargetFilter } from "./record/store.ts";
import type { NewTarget, TargetChanges } from "./schemas.ts";

/** The filter of a list as far as its caller may see; undefined when that is nothing. */
export function withinReach(scope: Scope | undefined, filter: TargetFilter): TargetFilter | undefined {
  const own = customerOf(scope);
  if (own === undefined) return filter;
  const isOther = filter.customerUid !== undefined && filter.customerUid !== own;
  // To the portal a target has no uid, so that guesses at what the organization calls it find nothing.
  const isUnseen = scope?.kind === "portal" && filter.uid !== undefined;
  return isOther || isUnseen ? undefined : { ...filter, customerUid: own };
}

/** A new target as its caller may make it: of the customer to which the caller is limited. */
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

/** Refuses changes that lead beyond the customer to which the caller is limited. */
export async function refuseBeyondReach(
  queries: Queries,
  caller: Caller,
  { kind }: { kind: string },
  changes: TargetChanges = {},
): Promise<Refused | undefined> {
  const own = customerOf(caller.scope);
  if (own === undefined) return undefined;
  const { customer_uid: customerUid } = changes;
  // Another customer is refused like one that does not exist.
  if (customerUid !== undefined && customerUid !== own) return invalid(noSuchCustomer(String(customerUid)));
  return (
    (await refuseOtherResults(queries, caller, changes)) ??
    (caller.scope?.kind === "portal" ? refuseToPortal(kind, changes) : undefined)
  );
}

/** A target as its caller may see it: an organization's own names and notes are not shown to its customers. */
export function asSeenBy(scope: Scope | undefined, target: StoredTarget): StoredTarget {
  return scope?.kind === "portal" ? { ...target, uid: null, metadata: null } : target;
}

/** Results of an agent's tasks go to a target of the same customer, where the caller is limited to one. */
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
    ? invalid("result_target_id must be a mailbox or webhook target of this workspace")
    : undefined;
}

/** Fields that only the organization gives; a publication is refused as a whole where one target takes less. */
const organizationFields = ["uid", "metadata", "max_payload_bytes"] as const;

/**
 * Refuses to a customer's portal the kinds that it does not have (mailboxes are read with API keys, which customers do not have,
 * and an agent is called on the organization's word) and the organization's own fields.
 */
function refuseToPortal(name: string, input: TargetChanges): Refused | undefined {
  if (findKind(name)?.isInPortal !== true) {
    const taken = kindNames((kind) => kind.isInPortal, "and");
    return outOfScope(`in the portal only ${taken}s can be made, changed and deleted`);
  }
  const field = organizationFields.find((one) => input[one] !== undefined);
  return field === undefined ? undefined : outOfScope(`${field} is not the customer's to give`);
}

function outOfScope(message: string): Refused {
  return { ok: false, refusal: { kind: "out_of_scope", message } };
}
