import type { Updateable } from "kysely";
import type { Origin } from "../audit/origin.ts";
import type { TargetRow } from "../postgres/tables.ts";
import { checkedColumns } from "./createTarget.ts";
import { type AnyKind, fieldsOf, holdsItems, type KindDeps, kindNamed } from "./kinds.ts";
import { nameFields, rateColumns } from "./record/fields.ts";
import { metadataFault } from "./record/names.ts";
import { invalid, type Refused } from "./record/refusal.ts";
import { changeTarget, refusalOfChange, type StoredTarget, type TargetChange } from "./record/store.ts";
import type { TargetChanges } from "./schemas.ts";
import { countWaiting, discardWaiting, rescheduleWaiting } from "./waitingItems.ts";

export interface UpdatedTarget {
  ok: true;
  target: StoredTarget;
  /** The number of items that waited, if the target was enabled again. With `discard_held` they were discarded. */
  heldItems?: number | undefined;
}

/**
 * Changes a target. If the target is enabled again, its record of failures is cleared, and all waiting items get the full retry
 * schedule, beginning at once, unless they are to be discarded.
 */
export async function updateTarget(
  deps: KindDeps,
  origin: Origin,
  present: StoredTarget,
  input: TargetChanges,
): Promise<UpdatedTarget | Refused> {
  const kind = kindNamed(present.kind);
  const fault = applicableFault(kind, input) ?? discardFault(input) ?? metadataFault(input.metadata);
  if (fault !== undefined) return invalid(fault);
  const checked = checkedColumns(input, present.rate_limit_per_second);
  if (!checked.ok) return checked;
  const changed = await kind.change(deps, input, { ...present, orgId: origin.orgId });
  if (!changed.ok) return changed;
  const columns = { ...commonColumns(input), ...checked.columns, ...changed.columns };
  const change: TargetChange = {
    origin,
    id: present.id,
    action: "target.updated",
    columns,
    async decide(transaction, locked) {
      // Another request may have removed the rate meanwhile.
      const rate = rateColumns(input, locked.rate_limit_per_second);
      return rate.ok ? ((await changed.decide?.(transaction, locked)) ?? { ok: true }) : rate;
    },
  };
  const isEnabledAgain = input.enabled === true && !present.enabled && holdsItems(present.kind);
  if (!isEnabledAgain) {
    if (input.discard_held === true) return { ok: false, refusal: { kind: "holds_nothing" } };
    return changeTarget(deps, change);
  }
  if (input.discard_held === true) return discardAndEnable(deps, change);
  // Before the target is enabled, so that no attempt follows the old schedule.
  await rescheduleWaiting(deps.queries, present.id);
  return enable(deps, change, await countWaiting(deps.queries, present.id));
}

/**
 * Discards the waiting items before the target is enabled, so that no attempt at them is made. First checks that the rest of the
 * change is not refused, because discarded items cannot be restored.
 */
async function discardAndEnable(deps: KindDeps, change: TargetChange): Promise<UpdatedTarget | Refused> {
  const refused = await refusalOfChange(deps.queries, change);
  if (refused !== undefined) return refused;
  const { isWhole, items } = await discardWaiting(deps.queries, change.id);
  if (!isWhole) return { ok: false, refusal: { kind: "discard_unfinished", items } };
  return enable(deps, { ...change, beside: { before: {}, after: { discarded_items: items } } }, items);
}

async function enable(
  deps: KindDeps,
  change: TargetChange,
  heldItems: number,
): Promise<UpdatedTarget | Refused> {
  const stored = await changeTarget(deps, change);
  if (!stored.ok) return stored;
  deps.onDue();
  return { ...stored, heldItems };
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
  return isAlone ? "discard_held needs enabled: true in the same request" : undefined;
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

/** The columns for the fields that every kind has. */
function commonColumns(input: TargetChanges): Updateable<TargetRow> {
  const given = plainColumns.filter((column) => input[column] !== undefined);
  return Object.fromEntries(given.map((column) => [column, input[column]]));
}
