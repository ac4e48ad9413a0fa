import { type TargetKind } from "../postgres/kinds.ts";
import { type Insertable, sql, type Updateable } from "kysely";
import { functionQuery } from "../postgres/functionQuery.ts";
import { bucketOf } from "../postgres/ids.ts";
import { inTransactionOf, type Queries, type TargetRow } from "../postgres/tables.ts";
import type { Action } from "../http/contract/auditActions.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { auditedChange, auditedFields, auditedTarget } from "./auditedFields.ts";
import { holdNames } from "./holdNames.ts";
import { endHeaderSet, noteHeaderSet } from "./headerSets.ts";

/** A target as its owner may see it: no secret leaves the database this way, but for headers, which are sealed. */
export type StoredTarget = Omit<
  TargetRow,
  "org_id" | "secret" | "previous_secret" | "version" | "filter_digest"
> & { has_previous_secret: boolean };

/** A bound for the lists, which are not paged, and for the circle of the claim. */
const maxTargetsPerOrganization = 10_000;
export const tooManyTargets = `a workspace has at most ${maxTargetsPerOrganization} targets: delete one first`;

/**
 * Stores a new target; `save` writes what belongs to it in the same transaction.
 * @throws {ApiError} 409 when the organization has as many targets as it may.
 */
export async function insertTarget(
  queries: Queries,
  origin: Origin,
  row: Insertable<TargetRow>,
  save?: (transaction: Queries) => Promise<void>,
): Promise<StoredTarget> {
  return inTransactionOf(queries, async (transaction) => {
    // One creation of an organization at a time, so that the count holds. An advisory lock: of a table that stands on several
    // servers, rows are locked on each of them, one after the other.
    await sql`select pg_advisory_xact_lock(hashtextextended(${`targets of ${row.org_id}`}, 0))`.execute(
      transaction,
    );
    const { count } = await transaction
      .selectFrom("targets")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("org_id", "=", row.org_id)
      .executeTakeFirstOrThrow();
    if (count >= maxTargetsPerOrganization) {
      throw new ApiError(409, tooManyTargets);
    }
    await holdNames(transaction, row.org_id, row);
    if (origin.actor.kind === "customer") await refuseMoreInPortal(transaction, row);
    const target = await transaction
      .insertInto("targets")
      .values(row)
      .returning(visibleColumns)
      .executeTakeFirstOrThrow();
    await noteHeaderSet(transaction, target);
    await save?.(transaction);
    await recordChange(transaction, origin, {
      action: "target.created",
      object: objectOf(target),
      after: auditedTarget(target),
    });
    return target;
  });
}

/** Targets with which a customer still makes another: each is an item more of every publication to it. */
const mostInPortal = 50;

/** Creations of one organization come one after the other, so that the count holds. @throws {ApiError} 409 */
async function refuseMoreInPortal(transaction: Queries, row: Insertable<TargetRow>): Promise<void> {
  const { count } = await transaction
    .selectFrom("targets")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("org_id", "=", row.org_id)
    .where("customer_uid", "=", row.customer_uid ?? null)
    .executeTakeFirstOrThrow();
  if (count < mostInPortal) return;
  throw new ApiError(409, `there are ${mostInPortal} endpoints, the most there can be: delete one first`);
}

/** Which of an organization's targets are listed; all of them unless told otherwise. */
export interface TargetFilter {
  kind?: TargetKind | undefined;
  uid?: string | undefined;
  /** Null for those that are no customer's. */
  customerUid?: string | null | undefined;
  /** The id of the last one of the page before. */
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

/** @throws {ApiError} 404 when the organization has no such target. */
export async function readTarget(queries: Queries, orgId: string, id: string): Promise<StoredTarget> {
  return queries
    .selectFrom("targets")
    .select(visibleColumns)
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .executeTakeFirstOrThrow(() => notFound());
}

/** Names a target of an organization. */
export interface TargetKey {
  orgId: string;
  id: string;
}

/** The kind of an organization's target; undefined when it has none of this id. */
export async function kindOf(queries: Queries, { orgId, id }: TargetKey): Promise<TargetKind | undefined> {
  const target = await queries
    .selectFrom("targets")
    .select("kind")
    .where((row) => row.and({ id, org_id: orgId }))
    .executeTakeFirst();
  return target?.kind;
}

/** Reads a target whose owner changes it, and lets nobody else change it before. @throws {ApiError} 404 when it is gone. */
export async function lockTarget(
  transaction: Queries,
  key: TargetKey,
): Promise<Pick<TargetRow, "url" | "headers">> {
  return transaction
    .selectFrom("targets")
    .select(["url", "headers"])
    .where("id", "=", key.id)
    .where("org_id", "=", key.orgId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(() => notFound());
}

/** A target that is to be changed, by whom, and how that is called. */
export interface TargetChange {
  origin: Origin;
  id: string;
  action: Action;
  /** Changes beside the target's own fields, without secrets. */
  beside?: { before: Readonly<Record<string, unknown>>; after: Readonly<Record<string, unknown>> };
}

/**
 * Changes a target, puts that on record and tells every node by its version, in a transaction.
 * @throws {ApiError} 404 when it is gone.
 */
export async function changeTarget(
  transaction: Queries,
  { origin, id, action, beside }: TargetChange,
  changes: Updateable<TargetRow>,
  nowSeconds: number,
): Promise<StoredTarget> {
  await holdNames(transaction, origin.orgId, { ...changes, id });
  const present = await transaction
    .selectFrom("targets")
    .select(visibleColumns)
    .where("id", "=", id)
    .where("org_id", "=", origin.orgId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (present === undefined) throw notFound();
  if (changes.enabled === true && present.disabled_reason !== null) {
    // Listeners that heard that the service disabled the target hear that it is enabled, in the same transaction.
    await sql`select note_operational_event('target.recovered', ${origin.orgId}, ${id}, null, 'it was enabled')`.execute(
      transaction,
    );
  }
  const target = await transaction
    .updateTable("targets")
    .set(changes)
    .set({ version: sql`version + 1`, updated_at: nowSeconds })
    .where("id", "=", id)
    .returning(visibleColumns)
    .executeTakeFirstOrThrow();
  const { before, after } = auditedChange(present, target);
  // Setting a field to its present value is no change; tools that describe everything do that often.
  const isChanged = Object.keys(after).length > 0 || beside !== undefined || action !== "target.updated";
  if (!isChanged) return target;
  await recordChange(transaction, origin, {
    action,
    object: objectOf(target),
    before: { ...before, ...beside?.before },
    after: { ...after, ...beside?.after },
  });
  return target;
}

/** A new signing secret, sealed, and when the present one ends, in Unix seconds; null when its owner ends it. */
export interface NewSecret {
  sealed: Buffer;
  previousUntil: number | null;
}

/** Makes `sealed` the signing secret and the present one the previous. @throws {ApiError} 404 when it is gone. */
export async function replaceSecret(
  queries: Queries,
  key: { origin: Origin; id: string },
  { sealed, previousUntil }: NewSecret,
  nowSeconds: number,
): Promise<StoredTarget> {
  const change: TargetChange = {
    ...key,
    action: "target.secret_rotated",
    beside: {
      before: {},
      after: {
        has_previous_signing_secret: true,
        ...(previousUntil !== null && { previous_signing_secret_until: previousUntil }),
      },
    },
  };
  const changes = {
    previous_secret: sql`secret` as never,
    previous_secret_until: previousUntil,
    secret: sealed,
  };
  return inTransactionOf(queries, (transaction) => changeTarget(transaction, change, changes, nowSeconds));
}

/**
 * The signing secrets of a webhook target, sealed as they are stored.
 * @throws {ApiError} 404 when the organization has no such target, or it is of a kind without secrets.
 */
export async function readSealedSecrets(
  queries: Queries,
  key: TargetKey,
): Promise<{ name: string; secret: Buffer; previous_secret: Buffer | null }> {
  const target = await queries
    .selectFrom("targets")
    .select(["name", "secret", "previous_secret"])
    .where("id", "=", key.id)
    .where("org_id", "=", key.orgId)
    .executeTakeFirst();
  if (target === undefined || target.secret === null) throw notFound();
  return { ...target, secret: target.secret };
}

function objectOf({ id, name }: StoredTarget) {
  return { kind: "target", id, name } as const;
}

/**
 * Removes a target, and cancels what is being delivered to it at this moment, so that no attempt
 * that is under way changes the outcome afterwards.
 * @returns its kind.
 * @throws {ApiError} 404 when the organization has no such target.
 */
export async function removeTarget(
  queries: Queries,
  { origin, id }: { origin: Origin; id: string },
  nowSeconds: number,
): Promise<TargetKind> {
  return inTransactionOf(queries, (transaction) => removeTargetIn(transaction, { origin, id }, nowSeconds));
}

/** The same within a transaction. */
export async function removeTargetIn(
  transaction: Queries,
  { origin, id }: { origin: Origin; id: string },
  nowSeconds: number,
): Promise<TargetKind> {
  const removed = await transaction
    .deleteFrom("targets")
    .where("id", "=", id)
    .where("org_id", "=", origin.orgId)
    .returning(visibleColumns)
    .executeTakeFirst();
  if (removed === undefined) throw notFound();
  await recordChange(transaction, origin, {
    action: "target.deleted",
    object: objectOf(removed),
    before: auditedTarget(removed),
  });
  if (removed.kind !== "mailbox") {
    await endHeaderSet(transaction, id, nowSeconds);
    await functionQuery("cancel_leased_deliveries", { p_bucket: bucketOf(id), p_target: id }).execute(
      transaction,
    );
  }
  return removed.kind;
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
