import { sql } from "kysely";
import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { isHandoff, kindNumbers } from "../postgres/kinds.ts";
import { newestFirst, type NewestFirst } from "../postgres/newestFirst.ts";
import { inTransaction } from "../postgres/pool.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";
import type { OperationalEventType } from "./eventTypes.ts";

/** A target that receives operational events; created_at is in Unix seconds. */
export interface NotificationTarget {
  id: string;
  target_id: string;
  event_types: OperationalEventType[];
  created_at: number;
}

/** The most notification targets of an organization. */
export const maxPerOrganization = 10;

export type SaveOutcome =
  | { outcome: "saved"; notificationTarget: NotificationTarget }
  /** The organization has no such target. */
  | { outcome: "not_found" }
  /** The target is an agent, which receives no operational events. */
  | { outcome: "is_agent" }
  /** The organization has `maxPerOrganization`. */
  | { outcome: "too_many" };

/** Makes a target receive operational events of these types only. */
export async function saveNotificationTarget(
  queries: Queries,
  origin: Origin,
  { id, target_id: targetId, event_types: eventTypes, created_at: createdAt }: NotificationTarget,
): Promise<SaveOutcome> {
  const { orgId } = origin;
  return inTransactionOf(queries, async (transaction) => {
    // The organization's lock serializes calls, so that the limit holds.
    await transaction
      .selectFrom("organizations")
      .select("id")
      .where("id", "=", orgId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    const target = await transaction
      .selectFrom("targets")
      .select("kind")
      .where("id", "=", targetId)
      .where("org_id", "=", orgId)
      .forKeyShare()
      .executeTakeFirst();
    if (target === undefined) return { outcome: "not_found" };
    if (isHandoff(kindNumbers[target.kind])) return { outcome: "is_agent" };
    const { rows: others } = await sql<{ count: number }>`
      select count(*) as count
      from notification_targets
      where org_id = ${orgId}
        and target_id <> ${targetId}
    `.execute(transaction);
    if (others[0]!.count >= maxPerOrganization) return { outcome: "too_many" };
    const { rows } = await sql<NotificationTarget>`
      insert into notification_targets as n (id, org_id, target_id, event_types, created_at)
      values (${id}, ${orgId}, ${targetId}, ${eventTypes}, ${createdAt})
      on conflict (org_id, target_id) do update
      set event_types = excluded.event_types
      returning n.id, n.target_id, n.event_types, n.created_at
    `.execute(transaction);
    await recordChange(transaction, origin, {
      action: "notification_target.saved",
      object: { kind: "target", id: targetId },
      after: { event_types: eventTypes },
    });
    return { outcome: "saved", notificationTarget: rows[0]! };
  });
}

/** The organization's notification targets, newest first. */
export function listNotificationTargets(pool: pg.Pool, page: NewestFirst): Promise<NotificationTarget[]> {
  const select = "select id, target_id, event_types, created_at from notification_targets";
  return newestFirst(pool, { name: "list_notification_targets", select }, page);
}

/** Removes a notification target. @returns false when the organization has no such one. */
export function removeNotificationTarget(pool: pg.Pool, origin: Origin, id: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Pick<NotificationTarget, "target_id" | "event_types">>(
      `delete from notification_targets
       where org_id = $1
         and id = $2
       returning target_id, event_types`,
      [origin.orgId, id],
    );
    const removed = rows[0];
    if (removed === undefined) return false;
    await recordChange(client, origin, {
      action: "notification_target.removed",
      object: { kind: "target", id: removed.target_id },
      before: { event_types: removed.event_types },
    });
    return true;
  });
}
