import { type Insertable, sql, type Updateable } from "kysely";
import { functionQuery } from "../postgres/functionQuery.ts";
import { bucketOf } from "../postgres/ids.ts";
import type { Queries, TargetKind, TargetRow } from "../postgres/tables.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { endHeaderSet, noteHeaderSet } from "./headerSets.ts";

/** A target as its owner may see it: no secret leaves the database this way, but for headers, which are sealed. */
export type StoredTarget = Omit<
  TargetRow,
  "org_id" | "secret" | "previous_secret" | "failing_since" | "version"
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
  row: Insertable<TargetRow>,
  save?: (transaction: Queries) => Promise<void>,
): Promise<StoredTarget> {
  return queries.transaction().execute(async (transaction) => {
    // Serializes creations of one organization, so that the count holds.
    await transaction
      .selectFrom("organizations")
      .select("id")
      .where("id", "=", row.org_id)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    const { count } = await transaction
      .selectFrom("targets")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("org_id", "=", row.org_id)
      .executeTakeFirstOrThrow();
    if (count >= maxTargetsPerOrganization) {
      throw new ApiError(409, tooManyTargets);
    }
    const target = await transaction
      .insertInto("targets")
      .values(row)
      .returning(visibleColumns)
      .executeTakeFirstOrThrow();
    await noteHeaderSet(transaction, target);
    await save?.(transaction);
    return target;
  });
}

/** An organization's targets, oldest first. */
export async function listTargets(
  queries: Queries,
  orgId: string,
  kind?: TargetKind,
): Promise<StoredTarget[]> {
  return queries
    .selectFrom("targets")
    .select(visibleColumns)
    .where("org_id", "=", orgId)
    .$if(kind !== undefined, (query) => query.where("kind", "=", kind!))
    .orderBy("id")
    .execute();
}

/** @throws {ApiError} 404 when the organization has no such target. */
export async function readTarget(queries: Queries, orgId: string, id: string): Promise<StoredTarget> {
  const target = await queries
    .selectFrom("targets")
    .select(visibleColumns)
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .executeTakeFirst();
  if (target === undefined) throw notFound();
  return target;
}

/** Names a target of an organization. */
export interface TargetKey {
  orgId: string;
  id: string;
}

/** Reads a target whose owner changes it, and lets nobody else change it before. @throws {ApiError} 404 when it is gone. */
export async function lockTarget(
  transaction: Queries,
  key: TargetKey,
): Promise<Pick<TargetRow, "url" | "headers">> {
  const target = await transaction
    .selectFrom("targets")
    .select(["url", "headers"])
    .where("id", "=", key.id)
    .where("org_id", "=", key.orgId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (target === undefined) throw notFound();
  return target;
}

/** Changes a target and tells every node by its version. @throws {ApiError} 404 when it is gone. */
export async function changeTarget(
  queries: Queries,
  key: TargetKey,
  changes: Updateable<TargetRow>,
  nowSeconds: number,
): Promise<StoredTarget> {
  const target = await queries
    .updateTable("targets")
    .set(changes)
    .set({ version: sql`version + 1`, updated_at: nowSeconds })
    .where("id", "=", key.id)
    .where("org_id", "=", key.orgId)
    .returning(visibleColumns)
    .executeTakeFirst();
  if (target === undefined) throw notFound();
  return target;
}

/** Makes `sealed` the signing secret and the present one the previous. @throws {ApiError} 404 when it is gone. */
export async function replaceSecret(
  queries: Queries,
  key: TargetKey,
  sealed: Buffer,
  nowSeconds: number,
): Promise<StoredTarget> {
  return changeTarget(queries, key, { previous_secret: sql`secret` as never, secret: sealed }, nowSeconds);
}

/**
 * Removes a target, and cancels what is being delivered to it at this moment, so that no attempt
 * that is under way changes the outcome afterwards.
 * @returns its kind.
 * @throws {ApiError} 404 when the organization has no such target.
 */
export async function removeTarget(
  queries: Queries,
  { orgId, id }: TargetKey,
  nowSeconds: number,
): Promise<TargetKind> {
  return queries.transaction().execute(async (transaction) => {
    const removed = await transaction
      .deleteFrom("targets")
      .where("id", "=", id)
      .where("org_id", "=", orgId)
      .returning("kind")
      .executeTakeFirst();
    if (removed === undefined) throw notFound();
    if (removed.kind !== "mailbox") {
      await endHeaderSet(transaction, id, nowSeconds);
      await functionQuery("cancel_leased_deliveries", { p_bucket: bucketOf(id), p_target: id }).execute(
        transaction,
      );
    }
    return removed.kind;
  });
}

const visibleColumns = [
  "id",
  "kind",
  "name",
  "description",
  "enabled",
  "disabled_reason",
  "url",
  "event_types",
  "max_payload_bytes",
  "max_retries",
  "retry_interval_seconds",
  "max_claims",
  "rate_limit_per_second",
  "rate_limit_burst",
  "max_concurrency",
  "headers",
  "header_set",
  "created_at",
  "updated_at",
  sql<boolean>`previous_secret is not null`.as("has_previous_secret"),
] as const;
