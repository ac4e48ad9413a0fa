import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, idOf, notFound, orRefused } from "../http/contract/errors.ts";
import { removal, routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { described, pageBefore } from "../http/contract/schemas.ts";
import { newRootId } from "../postgres/ids.ts";
import {
  EventTypes,
  listNotificationTargets,
  NotificationTarget,
  maxPerOrganization,
  operationalEventTypes,
  removeNotificationTarget,
  saveNotificationTarget,
} from "./store.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<NotificationRouteDeps>("Notifications");

export type NotificationRouteDeps = Pick<Parts, "pool" | "queries" | "nowMs">;

const listRoute = route("listNotificationTargets", "GET /api/v1/notification-targets", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List the targets that receive operational events, newest first",
  query: pageBefore("notification targets"),
  response: { 200: Type.Object({ notification_targets: Type.Array(NotificationTarget) }) },
  handle: async ({ caller, query }, deps) => ({
    notification_targets: await listNotificationTargets(deps.pool, caller.orgId, query),
  }),
});

const saveRoute = route("saveNotificationTarget", "POST /api/v1/notification-targets", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "notification_target.saved",
  summary: "Subscribe a webhook or mailbox to operational events",
  description:
    "The target receives operational events as items, which are signed, retried, and listed with the other events, but not billed. A repeated request for the same target replaces its `event_types`. A target receives no operational events about itself or about items that are operational events.",
  body: Type.Object({
    target_id: Type.String({ maxLength: 64 }),
    event_types: Type.Optional(described(EventTypes, "Default: all operational events")),
  }),
  response: { 200: NotificationTarget },
  errors: { 404: "The target does not exist", 409: "The organization has too many notification targets" },
  examples: examples.saveNotificationTarget,
  async handle(call, deps) {
    const { body } = call;
    const nowMs = deps.nowMs();
    const wanted = {
      id: newRootId(nowMs),
      target_id: idOf(body.target_id),
      event_types: body.event_types ?? [...operationalEventTypes],
      created_at: Math.floor(nowMs / 1000),
    };
    const saved = await saveNotificationTarget(deps.queries, originOf(call), wanted);
    return orRefused(saved, "saved", {
      not_found: notFound,
      is_agent: () =>
        new ApiError(400, "target_id must be a webhook or a mailbox: agents receive no operational events"),
      too_many: () =>
        new ApiError(409, `an organization has at most ${maxPerOrganization} notification targets`),
    }).notificationTarget;
  },
});

const removeRoute = route("removeNotificationTarget", "DELETE /api/v1/notification-targets/:id", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "notification_target.removed",
  summary: "Unsubscribe a target from operational events",
  description: "The target itself is not changed.",
  ...removal(async (call, id, deps: NotificationRouteDeps) => {
    if (!(await removeNotificationTarget(deps.pool, originOf(call), id))) throw notFound();
  }),
});

/** Routes for the targets that receive an organization's operational events. */
export const notificationRoutes = [listRoute, saveRoute, removeRoute];
