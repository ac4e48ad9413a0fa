import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { type Static, Type } from "typebox";
import { Id, oneOf, Timestamp } from "../http/contract/schemas.ts";
import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { isHandoff, kindNumbers } from "../postgres/kinds.ts";
import { newestFirst, type NewestFirst } from "../postgres/newestFirst.ts";
import { inTransaction } from "../postgres/pool.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { announceItems } from "../items/announceItems.ts";
import type { Parts } from "../items/parts.ts";

/** Operational events of the service, which are the `event_type` of items. */
export const operationalEventTypes = [
  "target.disabled",
  "target.recovered",
  "event.failed",
  "mailbox.message_dead",
  "handoff.input_required",
] as const;

export const EventTypes = Type.Array(oneOf(operationalEventTypes), {
  minItems: 1,
  maxItems: operationalEventTypes.length,
  uniqueItems: true,
});

export const NotificationTarget = Type.Object(
  { id: Id, target_id: Id, event_types: EventTypes, created_at: Timestamp },
  { title: "NotificationTarget" },
);
export type NotificationTarget = Static<typeof NotificationTarget>;

export const maxPerOrganization = 10;

export type SaveOutcome =
  | { outcome: "saved"; notificationTarget: NotificationTarget }
  | { outcome: "not_found" | "is_agent" | "too_many" };

/** Makes a target receive operational events, only those of the given types; writes nothing if it does already. */
export async function saveNotificationTarget(
  queries: Queries,
  origin: Origin,
  { id, target_id: targetId, event_types: eventTypes, created_at: createdAt }: NotificationTarget,
): Promise<SaveOutcome> {
  const { orgId } = origin;
  return inTransactionOf(queries, async (transaction) => {
    // The lock on the organization's row serializes calls, to enforce the limit.
    await transaction
      .selectFrom("organizations")
      .select("id")
      .where("id", "=", orgId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    const target = await transaction
      .selectFrom("targets")
      .select(["kind", "name"])
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
    const { rows: present } = await sql<NotificationTarget>`
      select id, target_id, event_types, created_at
      from notification_targets
      where org_id = ${orgId}
        and target_id = ${targetId}
      for update
    `.execute(transaction);
    const before = present[0];
    if (before !== undefined && isDeepStrictEqual(before.event_types, eventTypes))
      return { outcome: "saved", notificationTarget: before };
    const { rows } = await sql<NotificationTarget>`
      insert into notification_targets as n (id, org_id, target_id, event_types, created_at)
      values (${id}, ${orgId}, ${targetId}, ${eventTypes}, ${createdAt})
      on conflict (org_id, target_id) do update
      set event_types = excluded.event_types
      returning n.id, n.target_id, n.event_types, n.created_at
    `.execute(transaction);
    await recordChange(transaction, origin, {
      action: "notification_target.saved",
      object: { kind: "target", id: targetId, name: target.name },
      before: before && { event_types: before.event_types },
      after: { event_types: eventTypes },
    });
    return { outcome: "saved", notificationTarget: rows[0]! };
  });
}

/** The organization's notification targets, newest first. */
export function listNotificationTargets(
  pool: pg.Pool,
  orgId: string,
  page: NewestFirst,
): Promise<NotificationTarget[]> {
  const select = "select id, target_id, event_types, created_at from notification_targets";
  return newestFirst(pool, { name: "list_notification_targets", select }, orgId, page);
}

/** Removes a notification target. @returns false when the organization has no such notification target. */
export function removeNotificationTarget(pool: pg.Pool, origin: Origin, id: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<
      Pick<NotificationTarget, "target_id" | "event_types"> & { name: string }
    >(
      `delete from notification_targets n
       using targets t
       where n.org_id = $1
         and n.id = $2
         and t.org_id = n.org_id
         and t.id = n.target_id
       returning n.target_id, n.event_types, t.name`,
      [origin.orgId, id],
    );
    const removed = rows[0];
    if (removed === undefined) return false;
    await recordChange(client, origin, {
      action: "notification_target.removed",
      object: { kind: "target", id: removed.target_id, name: removed.name },
      before: { event_types: removed.event_types },
    });
    return true;
  });
}

type TellDeps = Pick<Parts, "pool" | "changes" | "onDue" | "onMailboxItems">;

interface Told {
  item_id: string;
  listener_id: string;
  event_type: string;
  status: "QUEUED" | "UNREAD" | "FILTERED";
}

/** Maximum number of subjects in one call; the next call handles the rest. */
const maxSubjects = 100;
/** Minimum time between two notifications of a target's failed events, and of its dead messages. */
const paceMs = 60_000;

/** Creates items from the stored operational events. @returns the number of items. */
export async function tellEvents(deps: TellDeps): Promise<number> {
  const rows = (await withPartitions(deps.pool, () =>
    callFunction(deps.pool, "tell_operational_events", {
      p_limit: maxSubjects,
      p_pace_ms: paceMs,
    }),
  )) as Told[];
  const items = rows.map(({ item_id: id, listener_id: targetId, event_type: eventType, status }) => ({
    id,
    targetId,
    eventType,
    status,
  }));
  announceItems(deps, items);
  return rows.length;
}
