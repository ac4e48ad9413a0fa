import type { Origin } from "../audit/origin.ts";
import { readFilter } from "../filters/filter.ts";
import { newTargetId } from "../postgres/ids.ts";
import { type AnyKind, fieldsOf, type KindDeps, kindNamed } from "./kinds.ts";
import type { TargetDeps } from "./record/kind.ts";
import { rateColumns } from "./record/fields.ts";
import { metadataFault } from "./record/names.ts";
import { invalid, type Refused } from "./record/refusal.ts";
import { insertTarget, type Stored } from "./record/store.ts";
import type { NewTarget, TargetChanges } from "./schemas.ts";

/** A target that was just created and, if its kind has a secret, the secret, which is shown only now. */
export type CreatedTarget = Extract<Stored, { ok: true }> & { secret?: string | undefined };

/** Creates a target of any kind. */
export async function createTarget(
  deps: KindDeps,
  origin: Origin,
  input: NewTarget,
): Promise<CreatedTarget | Refused> {
  const kind = kindNamed(input.kind);
  const fault = foreignFault(kind, input) ?? metadataFault(input.metadata);
  if (fault !== undefined) return invalid(fault);
  const checked = checkedColumns(input, null);
  if (!checked.ok) return checked;
  const { orgId } = origin;
  const nowMs = deps.nowMs();
  const id = newTargetId(orgId, nowMs);
  const made = await kind.create(deps, input, { orgId, id });
  if (!made.ok) return made;
  const row = {
    ...commonColumns(deps, input, nowMs),
    id,
    org_id: orgId,
    kind: kind.name,
    ...checked.columns,
    ...made.columns,
  };
  const stored = await insertTarget(deps.queries, origin, row, made);
  return stored.ok ? { ...stored, secret: made.secret } : stored;
}

/** Why a field is refused that only other kinds have: otherwise it would be ignored without an error. */
function foreignFault(kind: AnyKind, input: NewTarget): string | undefined {
  const foreign = (Object.keys(fieldsOf("created")) as (keyof NewTarget)[]).find(
    (field) => input[field] !== undefined && !Object.hasOwn(kind.fields.created, field),
  );
  return foreign === undefined ? undefined : `${foreign} does not apply to a ${kind.name} target`;
}

/** The columns that every kind has. The default retry schedule is 8 retries, after 30 s, 90 s, 270 s and so on. */
function commonColumns(deps: TargetDeps, input: NewTarget, nowMs: number) {
  const nowSeconds = Math.floor(nowMs / 1000);
  return {
    uid: input.uid ?? null,
    customer_uid: input.customer_uid ?? null,
    metadata: input.metadata ?? null,
    name: input.name,
    description: input.description ?? "",
    enabled: input.enabled ?? true,
    event_types: [],
    max_payload_bytes: input.max_payload_bytes ?? deps.config.maxBodyBytes,
    max_retries: input.max_retries ?? 8,
    retry_interval_seconds: input.retry_interval_seconds ?? 30,
    max_concurrency: input.max_concurrency ?? null,
    version: 1,
    created_at: nowSeconds,
    updated_at: nowSeconds,
  };
}

/**
 * The columns that a change of filter and rate sets. Undefined leaves a column as it is, null removes its value.
 * @param present the target's rate before the change.
 */
export function checkedColumns({ filter, ...input }: TargetChanges, present: number | null) {
  const reading = filter === undefined || filter === null ? undefined : readFilter(filter);
  if (reading?.ok === false) return invalid(reading.message);
  const rate = rateColumns(input, present);
  if (!rate.ok) return rate;
  const none = filter === null && { filter: null, filter_digest: null };
  return { ok: true as const, columns: { ...rate.columns, ...none, ...reading?.value.stored } };
}
