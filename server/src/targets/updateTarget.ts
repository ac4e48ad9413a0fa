import type { Updateable } from "kysely";
import type { Origin } from "../audit/origin.ts";
import type { TargetRow } from "../postgres/tables.ts";
import { checkedColumns } from "./createTarget.ts";
import { type AnyKind, fieldsOf, holdsItems, type KindDeps, kindNamed } from "./kinds.ts";
import { nameFields } from "./record/fields.ts";
import { metadataFault } from "./record/names.ts";
import { changeTarget, type StoredTarget, type TargetChange } from "./record/store.ts";
import type { TargetChanges } from "./schemas.ts";
import { countWaiting, discardWaiting, rescheduleWaiting } from "./waitingItems.ts";
import { ApiError, invalid } from "../http/contract/errors.ts";

export interface UpdatedTarget {
  target: StoredTarget;
  /** How many items waited for it, when it was enabled again; they are discarded when that was asked for. */
  heldItems?: number | undefined;
}

/**
 * Changes a target. One that is enabled again starts afresh: no failures on its record, and the full schedule for
 * everything that waits, at once, unless it is to be discarded.
 * @throws {ApiError} the refusal of what cannot be changed as asked.
 */
export async function updateTarget(
  deps: KindDeps,
  origin: Origin,
  present: StoredTarget,
  input: TargetChanges,
): Promise<UpdatedTarget> {
  const kind = kindNamed(present.kind);
  const fault = applicableFault(kind, input) ?? discardFault(input) ?? metadataFault(input.metadata);
  if (fault !== undefined) throw invalid(fault);
  const checked = checkedColumns(input, present.rate_limit_per_second);
  const changed = await kind.change(deps, input, { ...present, orgId: origin.orgId });
  const columns = { ...commonColumns(input), ...checked, ...changed.columns };
  const change: TargetChange = {
    origin,
    id: present.id,
    action: "target.updated",
    columns,
    decide: changed.decide,
  };
  const isEnabledAgain = input.enabled === true && !present.enabled && holdsItems(present.kind);
  if (!isEnabledAgain) {
    if (input.discard_held === true) {
      throw new ApiError(
        409,
        "discard_held is for a target that is disabled: this one is enabled",
        "target_enabled",
      );
    }
    return { target: await changeTarget(deps, change) };
  }
  return input.discard_held === true ? discardAndEnable(deps, change) : restartAndEnable(deps, change);
}

/** Discards before the target is enabled, so that no attempt is made of what is discarded. */
async function discardAndEnable(deps: KindDeps, change: TargetChange): Promise<UpdatedTarget> {
  const { isWhole, items } = await discardWaiting(deps.queries, change.id);
  if (!isWhole) {
    throw new ApiError(
      503,
      `${items} items are discarded, more wait, and the target is still disabled: send the request again`,
      { code: "discard_unfinished", retryAfterSeconds: 1 },
    );
  }
  return enable(deps, { ...change, beside: { before: {}, after: { discarded_items: items } } }, items);
}

/** Reschedules before the target is enabled, so that no attempt is made under the old schedule. */
async function restartAndEnable(deps: KindDeps, change: TargetChange): Promise<UpdatedTarget> {
  await rescheduleWaiting(deps.queries, change.id);
  return enable(deps, change, await countWaiting(deps.queries, change.id));
}

async function enable(deps: KindDeps, change: TargetChange, heldItems: number): Promise<UpdatedTarget> {
  const target = await changeTarget(deps, change);
  deps.onDue();
  return { target, heldItems };
}

const changeableFields = ["name", "description", "enabled", "max_payload_bytes", ...Object.keys(nameFields)];

function applicableFault(kind: AnyKind, input: TargetChanges): string | undefined {
  const isGiven = (field: string): boolean => input[field as keyof TargetChanges] !== undefined;
  const changeable = [...changeableFields, ...Object.keys(kind.fields.changed)];
  if (!changeable.some(isGiven)) {
    return `nothing to change: a ${kind.name} target takes ${changeable.join(", ")}`;
  }
  const own = [...changeable, ...Object.keys(kind.fields.created)];
  const ofAll = Object.keys({ ...fieldsOf("created"), ...fieldsOf("changed") });
  const foreign = ofAll.find((field) => isGiven(field) && !own.includes(field));
  return foreign === undefined ? undefined : `${foreign} does not apply to a ${kind.name} target`;
}

function discardFault(input: TargetChanges): string | undefined {
  const isAlone = input.discard_held === true && input.enabled !== true;
  return isAlone ? "discard_held goes with enabled: true" : undefined;
}

const plainColumns = [
  "uid",
  "customer_uid",
  "metadata",
  "name",
  "description",
  "enabled",
  "max_payload_bytes",
  "max_retries",
  "retry_interval_seconds",
  "max_concurrency",
] as const;

/** The columns that a change of any kind changes. An enabled target starts with no failures on its record. */
function commonColumns(input: TargetChanges): Updateable<TargetRow> {
  const given = plainColumns.filter((column) => input[column] !== undefined);
  return {
    ...Object.fromEntries(given.map((column) => [column, input[column]])),
    ...(input.enabled === true && { disabled_reason: null, failing_since: null }),
  };
}
