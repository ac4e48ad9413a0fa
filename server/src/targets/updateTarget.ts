import { type TargetKind } from "../postgres/kinds.ts";
import type { Origin } from "../audit/origin.ts";
import type { Updateable } from "kysely";
import { inTransactionOf, type Queries, type TargetRow } from "../postgres/tables.ts";
import { ApiError } from "../http/contract/errors.ts";
import { checkUrl, ofDelivery, readAuth, type TargetDeps } from "./createTarget.ts";
import { filterChanges } from "./filter.ts";
import { checkEventTypes } from "./eventTypes.ts";
import { changeHeaders, refuseOtherOrigin } from "./changeHeaders.ts";
import { type AgentChanges, type HandoffAuth, handoffTargets } from "./handoffTargets.ts";
import { checkMetadata } from "./metadata.ts";
import { rateChanges } from "./limits.ts";
import type { TargetChanges } from "./schemas.ts";
import { changeTarget, type StoredTarget, type TargetChange } from "./store.ts";
import { countWaiting, discardWaiting, rescheduleWaiting } from "./waitingItems.ts";

/** What an organization calls a target, notes about it, and which items it gets. */
const names = ["uid", "customer_uid", "metadata", "filter"] as const;

/** What a PATCH can change on each kind; an agent's `url` comes from its card, by refresh. */
const changeable: Record<TargetKind, readonly (keyof TargetChanges)[]> = {
  webhook: [
    "name",
    "description",
    "enabled",
    "url",
    "event_types",
    "max_payload_bytes",
    ...ofDelivery,
    "headers",
    "discard_held",
    ...names,
  ],
  mailbox: [...names, "name", "description", "enabled", "max_payload_bytes", "max_claims"],
  a2a: [
    "name",
    "description",
    "enabled",
    "max_payload_bytes",
    ...ofDelivery,
    "auth",
    "confirm_origin",
    "result_target_id",
    "discard_held",
    ...names,
  ],
};

/** A target as it is after a change. */
export interface UpdatedTarget {
  target: StoredTarget;
  /** How many items waited for it, when it was enabled again; they are discarded when that was asked for. */
  heldItems?: number;
}

/**
 * Changes a target. One that is enabled again starts afresh: no failures on its record, and the full schedule for
 * everything that waits, at once, unless it is to be discarded.
 * @throws {ApiError} 400 when nothing or something does not apply to this kind or the URL or a header is refused, 404 when
 * it is gone, 409 when there is nothing to discard because it is enabled, or when secret headers would go to another
 * origin, 503 when not all could be discarded.
 */
export async function updateTarget(
  deps: TargetDeps,
  origin: Origin,
  present: StoredTarget,
  input: TargetChanges,
): Promise<UpdatedTarget> {
  const { discard_held: isToBeDiscarded = false, filter, ...changes } = applicable(present.kind, input);
  if (isToBeDiscarded && changes.enabled !== true) {
    throw new ApiError(400, "discard_held goes with enabled: true");
  }
  checkEventTypes(changes.event_types);
  checkMetadata(changes.metadata);
  if (changes.url !== undefined) await checkUrl(deps, changes.url);
  refuseOtherOrigin(present, changes);
  const filtered = await filterChanges(deps, filter);
  const { orgId } = origin;
  const key = { origin, id: present.id };
  const rated = { ...changes, ...rateChanges(changes, present.rate_limit_per_second), ...filtered };
  if (changes.enabled !== true || present.enabled || present.kind === "mailbox") {
    if (isToBeDiscarded) {
      throw new ApiError(409, "discard_held is for a target that is disabled: this one is enabled", {
        code: "target_enabled",
      });
    }
    const target = await store(deps, key, rated);
    deps.changes.publishTarget(orgId, target.id);
    return { target };
  }
  // Before the target is enabled, so that no attempt is made of what is discarded or under the old schedule.
  const heldItems = isToBeDiscarded
    ? await discardWaiting(deps.queries, present.id)
    : await restartWaiting(deps, present.id);
  const discarded = { before: {}, after: { discarded_items: heldItems } };
  const target = await store(deps, { ...key, ...(isToBeDiscarded && { beside: discarded }) }, rated);
  deps.changes.publishTarget(orgId, target.id);
  deps.onDue();
  return { target, heldItems };
}

async function restartWaiting(deps: TargetDeps, targetId: string): Promise<number> {
  await rescheduleWaiting(deps.queries, targetId);
  return countWaiting(deps.queries, targetId);
}

async function store(
  deps: TargetDeps,
  key: Omit<TargetChange, "action">,
  {
    auth,
    confirm_origin: confirmOrigin,
    result_target_id: resultTargetId,
    headers,
    ...changes
  }: Omit<TargetChanges, "filter"> & Awaited<ReturnType<typeof filterChanges>>,
): Promise<StoredTarget> {
  const row = { ...changes, ...consequences(changes) };
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const change: TargetChange = { ...key, action: "target.updated" };
  if (headers !== undefined || changes.url !== undefined) {
    return changeHeaders(deps, change, { row, headers, nowSeconds });
  }
  if (auth === undefined && resultTargetId === undefined && confirmOrigin === undefined) {
    return inTransactionOf(deps.queries, (transaction) => changeTarget(transaction, change, row, nowSeconds));
  }
  const isAuthSaid = auth !== undefined || confirmOrigin !== undefined;
  const agent = {
    auth: isAuthSaid ? readAuth(auth, confirmOrigin) : undefined,
    confirmOrigin,
    resultTargetId,
  };
  return inTransactionOf(deps.queries, async (transaction) => {
    const beside = await agentDifferences(transaction, key.id, agent);
    const whole = {
      ...change,
      beside: { before: beside.before, after: { ...key.beside?.after, ...beside.after } },
    };
    const target = await changeTarget(transaction, whole, row, nowSeconds);
    const agentTarget = { id: key.id, orgId: key.origin.orgId, url: target.url! };
    await handoffTargets(deps).change(transaction, agentTarget, agent);
    return target;
  });
}

/** What changes of an agent beside its target's row; a token is told of, and never shown. */
async function agentDifferences(
  transaction: Queries,
  targetId: string,
  { auth, confirmOrigin, resultTargetId }: AgentChanges,
): Promise<Required<TargetChange>["beside"]> {
  const present = await transaction
    .selectFrom("agent_cards")
    .select(["result_target_id", "bearer_origin", "auth_header"])
    .where("target_id", "=", targetId)
    .executeTakeFirst();
  return {
    before: {
      ...(auth && { auth: authName(present) }),
      ...(resultTargetId !== undefined && { result_target_id: present?.result_target_id ?? null }),
    },
    after: {
      ...(auth && { auth: newAuthName(auth) }),
      ...(confirmOrigin !== undefined && { confirm_origin: confirmOrigin }),
      ...(resultTargetId !== undefined && { result_target_id: resultTargetId }),
    },
  };
}

function authName(card: { bearer_origin: string | null; auth_header: string | null } | undefined): string {
  if (card === undefined || card.bearer_origin === null) return "none";
  return card.auth_header === null ? "bearer" : `api_key in ${card.auth_header}`;
}

function newAuthName(auth: HandoffAuth): string {
  switch (auth.type) {
    case "none":
      return "none";
    case "bearer":
      return "bearer (a new token)";
    case "api_key":
      return `api_key in ${auth.header} (a new value)`;
  }
}

function applicable(kind: TargetKind, input: TargetChanges): TargetChanges {
  const fields = changeable[kind].filter((field) => input[field] !== undefined);
  if (fields.length === 0) {
    throw new ApiError(400, `nothing to change: a ${kind} target takes ${changeable[kind].join(", ")}`);
  }
  const others = Object.values(changeable).flat();
  const foreign = others.find((field) => input[field] !== undefined && !fields.includes(field));
  if (foreign !== undefined) throw new ApiError(400, `${foreign} does not apply to a ${kind} target`);
  return Object.fromEntries(fields.map((field) => [field, input[field]]));
}

/** The five days after which failing disables a target start again with a new URL, as with enabling. */
function consequences(changes: Pick<TargetChanges, "enabled" | "url">): Updateable<TargetRow> {
  if (changes.enabled === true) return { disabled_reason: null, failing_since: null };
  return changes.url === undefined ? {} : { failing_since: null };
}
