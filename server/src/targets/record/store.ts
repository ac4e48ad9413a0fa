import { type Insertable, sql, type Updateable } from "kysely";
import type { Origin } from "../../audit/origin.ts";
import { recordChange } from "../../audit/recordChange.ts";
import type { Action } from "../../http/contract/auditActions.ts";
import type { Parts } from "../../items/parts.ts";
import type { TargetKind } from "../../postgres/kinds.ts";
import { inTransactionOf, type Queries, type TargetRow } from "../../postgres/tables.ts";
import { holdNames } from "./names.ts";
import { gone, type Refused } from "./refusal.ts";
import { differences, maskedUrl, pick } from "../../audit/differences.ts";

/** A target without its secrets; the only secrets in it are those sealed in `headers`. */
export type StoredTarget = Omit<
  TargetRow,
  "org_id" | "secret" | "previous_secret" | "version" | "filter_digest"
> & { has_previous_secret: boolean };

/** The stored target after a creation or change, or why it was refused. */
export type Stored = { ok: true; target: StoredTarget } | Refused;

/** Bounds lists, which need not be paged, and the claim, which goes round all waiting targets. */
const maxTargetsPerOrganization = 10_000;
export const tooManyTargets = `an organization has at most ${maxTargetsPerOrganization} targets: delete one first`;

/** Steps of a kind's creation, within the transaction that stores the target. */
export interface CreationSteps {
  /** Checks made before anything is written. */
  check?: (transaction: Queries) => Promise<Refused | undefined>;
  /** Writes the target's rows in other tables. */
  save?: (transaction: Queries, target: StoredTarget) => Promise<void>;
}

/** Stores a new target, unless the organization has the maximum number of targets or the names are refused. */
export async function insertTarget(
  queries: Queries,
  origin: Origin,
  row: Insertable<TargetRow>,
  { check, save }: CreationSteps,
): Promise<Stored> {
  return inTransactionOf(queries, async (transaction) => {
    // An advisory lock, so that creations of one organization run one after the other and the limit holds. Locking rows of a
    // table that is divided among servers would take a lock on each server.
    await sql`select pg_advisory_xact_lock(hashtextextended(${`targets of ${row.org_id}`}, 0))`.execute(
      transaction,
    );
    const refused =
      (await refuseMore(transaction, origin, row)) ??
      (await holdNames(transaction, row.org_id, row)) ??
      (await check?.(transaction));
    if (refused !== undefined) return refused;
    const target = await transaction
      .insertInto("targets")
      .values(row)
      .returning(visibleColumns)
      .executeTakeFirstOrThrow();
    await save?.(transaction, target);
    await recordChange(transaction, origin, {
      action: "target.created",
      object: objectOf(target),
      after: pick(auditedFields, withMaskedUrl(target)),
    });
    return { ok: true, target };
  });
}

/** The most targets that a customer can create in its portal. Each adds an item to every publication to the customer. */
const maxInPortal = 50;

async function refuseMore(
  transaction: Queries,
  origin: Origin,
  { org_id: orgId, customer_uid: customerUid = null }: Insertable<TargetRow>,
): Promise<Refused | undefined> {
  const count = async (customer?: { uid: string | null }): Promise<number> => {
    const { count } = await transaction
      .selectFrom("targets")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("org_id", "=", orgId)
      .$if(customer !== undefined, (query) => query.where("customer_uid", "=", customer!.uid))
      .executeTakeFirstOrThrow();
    return count;
  };
  if ((await count()) >= maxTargetsPerOrganization) return tooMany(tooManyTargets);
  if (origin.actor.kind !== "customer" || (await count({ uid: customerUid })) < maxInPortal) return undefined;
  return tooMany(`a customer can have at most ${maxInPortal} endpoints: delete one first`);
}

function tooMany(message: string): Refused {
  return { ok: false, refusal: { kind: "too_many", message } };
}

/** Filter of a list of an organization's targets; an empty filter lists all of them. */
export interface TargetFilter {
  kind?: TargetKind | undefined;
  uid?: string | undefined;
  /** Null for targets without a customer. */
  customerUid?: string | null | undefined;
  /** The id of the last target of the page before. */
  after?: string | undefined;
  limit?: number | undefined;
}

/** An organization's targets, oldest first. */
export async function listTargets(
  queries: Queries,
  orgId: string,
  { kind, uid, customerUid, after, limit }: TargetFilter = {},
): Promise<StoredTarget[]> {
  return queries
    .selectFrom("targets")
    .select(visibleColumns)
    .where("org_id", "=", orgId)
    .$if(kind !== undefined, (query) => query.where("kind", "=", kind!))
    .$if(uid !== undefined, (query) => query.where("uid", "=", uid!))
    .$if(customerUid === null, (query) => query.where("customer_uid", "is", null))
    .$if(typeof customerUid === "string", (query) => query.where("customer_uid", "=", customerUid!))
    .$if(after !== undefined, (query) => query.where("id", ">", after!))
    .orderBy("id")
    .$if(limit !== undefined, (query) => query.limit(limit!))
    .execute();
}

/** The key of a target of an organization. */
export interface TargetKey {
  orgId: string;
  id: string;
}

/** Reads a target; undefined when the organization has no such target. */
export async function readTarget(queries: Queries, key: TargetKey): Promise<StoredTarget | undefined> {
  return selectTarget(queries, key).executeTakeFirst();
}

function selectTarget(queries: Queries, { orgId, id }: TargetKey) {
  return queries
    .selectFrom("targets")
    .select(visibleColumns)
    .where("id", "=", id)
    .where("org_id", "=", orgId);
}

/** Changes for the audit log beside those of the target's own fields, without secrets. */
export interface Beside {
  before: Readonly<Record<string, unknown>>;
  after: Readonly<Record<string, unknown>>;
}

/** A change of a target: its origin, its action in the audit log, and its columns. */
export interface TargetChange {
  origin: Origin;
  id: string;
  action: Action;
  columns: Updateable<TargetRow>;
  beside?: Beside | undefined;
  /** Decides the rest of the change after the target is locked and before anything is written. */
  decide?: ((transaction: Queries, present: StoredTarget) => Promise<Decision | Refused>) | undefined;
}

export interface Decision {
  ok: true;
  /** Nothing is to be changed, and nothing is written. */
  isUnchanged?: boolean;
  columns?: Updateable<TargetRow>;
  beside?: Beside;
  /** Writes the target's rows in other tables. */
  save?: (transaction: Queries, target: StoredTarget) => Promise<void>;
}

/** Changes a target, its version and the audit log in one transaction, and then publishes the change to event streams. */
export async function changeTarget(
  deps: Pick<Parts, "queries" | "changes" | "nowMs">,
  change: TargetChange,
): Promise<Stored> {
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  const stored = await inTransactionOf(deps.queries, (transaction) =>
    changeTargetIn(transaction, change, nowSeconds),
  );
  if (stored.ok) deps.changes.publishTarget(change.origin.orgId, change.id);
  return stored;
}

/** Like {@link changeTarget}, within a transaction of the caller. Does not publish to event streams. */
export async function changeTargetIn(
  transaction: Queries,
  { origin, id, action, columns, beside, decide }: TargetChange,
  nowSeconds: number,
): Promise<Stored> {
  const decided = await lockAndDecide(transaction, { origin, id, columns, decide });
  if (!decided.ok) return decided;
  const { present, decision } = decided;
  if (decision.isUnchanged === true) return { ok: true, target: present };
  if (columns.enabled === true && present.disabled_reason !== null) {
    // Subscribers who were told that the service disabled the target are told that it is enabled, in the same transaction.
    await sql`select note_operational_event('target.recovered', ${origin.orgId}, ${id}, null, 'it was enabled')`.execute(
      transaction,
    );
  }
  // Enabling a target again clears its record of failures. Naming the present state, as tools that send every field do, keeps it.
  const isEnabledAgain = columns.enabled === true && !present.enabled;
  const cleared = isEnabledAgain ? { disabled_reason: null, failing_since: null } : {};
  const target = await transaction
    .updateTable("targets")
    .set({ ...columns, ...cleared, ...decision.columns })
    .set({ version: sql`version + 1`, updated_at: nowSeconds })
    .where("id", "=", id)
    .returning(visibleColumns)
    .executeTakeFirstOrThrow();
  await decision.save?.(transaction, target);
  const { before, after } = differences(auditedFields, withMaskedUrl(present), withMaskedUrl(target));
  const besides = [beside, decision.beside].filter((one) => one !== undefined);
  // Setting a field to its present value is no change. Tools that send every field do that often.
  const isChanged = Object.keys(after).length > 0 || besides.length > 0 || action !== "target.updated";
  if (!isChanged) return { ok: true, target };
  await recordChange(transaction, origin, {
    action,
    object: objectOf(target),
    before: Object.assign({}, before, ...besides.map((one) => one.before)) as typeof before,
    after: Object.assign({}, after, ...besides.map((one) => one.after)) as typeof after,
  });
  return { ok: true, target };
}

/** Why a change would be refused now; undefined when it would be made. Writes nothing. */
export async function refusalOfChange(queries: Queries, change: TargetChange): Promise<Refused | undefined> {
  const decided = await inTransactionOf(queries, (transaction) => lockAndDecide(transaction, change));
  return decided.ok ? undefined : decided;
}

/** Locks the rows of a change, and makes all decisions before anything is written. */
async function lockAndDecide(
  transaction: Queries,
  { origin, id, columns, decide }: Pick<TargetChange, "origin" | "id" | "columns" | "decide">,
): Promise<{ ok: true; present: StoredTarget; decision: Decision } | Refused> {
  const refused = await holdNames(transaction, origin.orgId, { ...columns, id });
  if (refused !== undefined) return refused;
  const present = await selectTarget(transaction, { orgId: origin.orgId, id })
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (present === undefined) return gone;
  const decision = (await decide?.(transaction, present)) ?? { ok: true };
  return decision.ok ? { ok: true, present, decision } : decision;
}

/** Removes a target's row; undefined when the organization has no such target. */
export async function deleteTargetRow(
  transaction: Queries,
  { origin, id }: { origin: Origin; id: string },
): Promise<StoredTarget | undefined> {
  const removed = await transaction
    .deleteFrom("targets")
    .where("id", "=", id)
    .where("org_id", "=", origin.orgId)
    .returning(visibleColumns)
    .executeTakeFirst();
  if (removed === undefined) return undefined;
  await recordChange(transaction, origin, {
    action: "target.deleted",
    object: objectOf(removed),
    before: pick(auditedFields, withMaskedUrl(removed)),
  });
  return removed;
}

function objectOf({ id, name }: StoredTarget) {
  return { kind: "target", id, name } as const;
}

/**
 * The fields of a target that the audit log shows. Fields that are not listed stay hidden, so that a new secret is not shown by
 * mistake. URLs are masked.
 */
const auditedFields = [
  "kind",
  "uid",
  "customer_uid",
  "metadata",
  "filter",
  "name",
  "description",
  "enabled",
  "disabled_reason",
  "url",
  "event_types",
  "max_payload_bytes",
  "max_retries",
  "retry_interval_seconds",
  "rate_limit_per_second",
  "rate_limit_burst",
  "max_concurrency",
  "max_claims",
] as const satisfies (keyof StoredTarget)[];

function withMaskedUrl(target: StoredTarget): StoredTarget {
  return target.url === null ? target : { ...target, url: maskedUrl(target.url) };
}

const visibleColumns = [
  "id",
  ...auditedFields,
  "headers",
  "header_set",
  "failing_since",
  "created_at",
  "updated_at",
  "previous_secret_until",
  sql<boolean>`previous_secret is not null`.as("has_previous_secret"),
] as const;
