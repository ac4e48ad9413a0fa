import type pg from "pg";
import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { notFound } from "../http/contract/errors.ts";
import { removal } from "../http/contract/removal.ts";
import { route, type Routes } from "../http/contract/route.ts";
import { Id, pageBefore, Timestamp } from "../http/contract/schemas.ts";
import { isId, newRootId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { type OperationalEventType, operationalEventTypes } from "./eventTypes.ts";
import { listNotificationTargets, removeNotificationTarget, saveNotificationTarget } from "./store.ts";

export interface NotificationRouteDeps {
  pool: pg.Pool;
  queries: Queries;
  /** Unix milliseconds. */
  nowMs: () => number;
}

const EventTypes = Type.Array(
  Type.Unsafe<OperationalEventType>({ type: "string", enum: [...operationalEventTypes] }),
  { minItems: 1, maxItems: operationalEventTypes.length, uniqueItems: true },
);

const NotificationTarget = Type.Object(
  { id: Id, target_id: Id, event_types: EventTypes, created_at: Timestamp },
  { title: "NotificationTarget" },
);

/** Which of an organization's targets hear of what happens to its targets and items. */
export function notificationRoutes(deps: NotificationRouteDeps): Routes<"list" | "save" | "remove"> {
  return {
    list: route(
      {
        summary: "List the targets that hear of operational events, newest first",
        querystring: pageBefore("those"),
        response: { 200: Type.Object({ notification_targets: Type.Array(NotificationTarget) }) },
      },
      async ({ caller, query: { limit, before = null } }) => ({
        notification_targets: await listNotificationTargets(deps.pool, {
          orgId: caller.orgId,
          before,
          limit,
        }),
      }),
    ),
    save: route(
      {
        summary: "Let a webhook or mailbox hear of operational events",
        description:
          "What happens is sent to it as items: signed, retried, in the list of events, and not billed. A target that is named again hears of what is said last. Nothing is told of a target to itself, nor of what becomes of such items.",
        body: Type.Object({
          target_id: Type.String({ maxLength: 64 }),
          event_types: Type.Optional(EventTypes),
        }),
        response: { 200: NotificationTarget },
        errors: { 404: "There is no such target", 409: "The workspace has too many notification targets" },
      },
      async (call) => {
        const { body } = call;
        if (!isId(body.target_id)) throw notFound();
        const nowMs = deps.nowMs();
        return saveNotificationTarget(deps.queries, originOf(call), {
          id: newRootId(nowMs),
          target_id: body.target_id,
          event_types: body.event_types ?? [...operationalEventTypes],
          created_at: Math.floor(nowMs / 1000),
        });
      },
    ),
    remove: removal(
      {
        summary: "Let a target hear of nothing any more",
        description: "The target itself stays as it is.",
      },
      (call, id) => removeNotificationTarget(deps.pool, originOf(call), id),
    ),
  };
}
