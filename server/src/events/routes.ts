import { isHandoff } from "../postgres/kinds.ts";
import type pg from "pg";
import { Type } from "typebox";
import type { Caller } from "../http/contract/credentials.ts";
import { customerOf } from "../http/contract/scope.ts";
import { isId } from "../postgres/ids.ts";
import { notFound } from "../http/contract/errors.ts";
import { Handoff, handoffAnswer } from "../handoff/record/handoffAnswer.ts";
import { route, type Routes } from "../http/contract/route.ts";
import { IdParams } from "../http/contract/schemas.ts";
import { attemptAnswer, eventAnswer, listedAnswer } from "./answers.ts";
import { cancelEvent } from "./cancelEvent.ts";
import { listEvents } from "./listEvents.ts";
import { filterOf, readFields } from "./query.ts";
import { readEvent } from "./readEvent.ts";
import { readPayload } from "./readPayload.ts";
import { limitPortalReplays } from "./limitPortalReplays.ts";
import { type ReplayDeps, replayEvent } from "./replayEvent.ts";
import {
  CanceledEvent,
  DeliveryAttempt,
  Event,
  EventQuery,
  EventSummary,
  Replay,
  ReplayBody,
} from "./schemas.ts";
import type { EventScope } from "./store.ts";

/** `/api/v1/events`: what was accepted and what became of it. */
export function eventRoutes(
  deps: ReplayDeps & { pool: pg.Pool },
): Routes<"list" | "read" | "payload" | "replay" | "cancel"> {
  const mailboxRetentionMs = deps.config.mailboxRetentionSeconds * 1000;
  const scopeOf = (caller: Caller): EventScope => ({ orgId: caller.orgId, mailboxRetentionMs });
  return {
    ...readingRoutes(deps, scopeOf),
    ...changingRoutes(deps),
    payload: route(
      {
        summary: "Read an event's payload, byte for byte",
        params: IdParams,
        response: { 200: Type.Unknown({ description: "The item as it was accepted" }) },
        answerHeaders: ["Content-Disposition"],
        errors: { 410: "It expired in its mailbox, or was erased" },
      },
      async ({ caller, params, reply }) => {
        if (!isId(params.id)) throw notFound();
        const payload = await readPayload(deps.queries, scopeOf(caller), params.id);
        void reply
          .type("application/json")
          .header("content-disposition", `attachment; filename="${params.id}.json"`)
          .header("x-content-type-options", "nosniff");
        return payload;
      },
    ),
  };
}

function readingRoutes(deps: ReplayDeps, scopeOf: (caller: Caller) => EventScope): Routes<"list" | "read"> {
  return {
    list: route(
      {
        summary: "List events, newest or oldest first",
        description: "One page without a total. An id that is no target of the workspace matches nothing.",
        querystring: EventQuery,
        response: { 200: Type.Object({ events: Type.Array(EventSummary) }) },
      },
      async ({ caller, query }) => {
        const fields = readFields(query.fields);
        const filter = filterOf(query, { ...scopeOf(caller), customerUid: customerOf(caller.scope) });
        if (filter === undefined) return { events: [] };
        const page = await listEvents(deps.queries, filter, {
          replays: fields.has("replayed_by"),
          progress: fields.difference(new Set(["replayed_by"])).size > 0,
        });
        return { events: page.events.map((event) => listedAnswer(event, page, fields)) };
      },
    ),
    read: route(
      {
        summary: "Read an event and its delivery attempts",
        params: IdParams,
        response: {
          200: Type.Object({
            event: Event,
            delivery_attempts: Type.Array(DeliveryAttempt),
            handoff: Type.Optional(
              Type.Union([Handoff, Type.Null()], {
                description: "Only for a2a targets; null before the agent has accepted the item",
              }),
            ),
          }),
        },
      },
      async ({ caller, params }) => {
        if (!isId(params.id)) throw notFound();
        const { event, attempts, progress, replayedBy, handoff } = await readEvent(
          deps.queries,
          scopeOf(caller),
          params.id,
        );
        return {
          event: eventAnswer(event, progress, replayedBy),
          delivery_attempts: attempts.map((attempt) => attemptAnswer(event.id, attempt)),
          ...(isHandoff(event.kind) && { handoff: handoffAnswer(handoff) }),
        };
      },
    ),
  };
}

function changingRoutes(deps: ReplayDeps & { pool: pg.Pool }): Routes<"replay" | "cancel"> {
  return {
    replay: route(
      {
        summary: "Deliver an event's payload once more, as a new event that is not billed",
        description:
          "Its deliveries keep the `webhook-id` of the event that they repeat, unless the body asks for a new one; `x-event-id` is the new event, `x-source-event-id` the repeated one. An event that is QUEUED or RETRYING is not replayed beside its own schedule.",
        params: IdParams,
        body: ReplayBody,
        response: { 202: Replay },
        errors: {
          409: "It is still being delivered, its target was deleted, its mailbox is disabled, or its payload has expired",
          410: "Its payload was erased",
          429: "A customer asked for too many in its portal",
        },
      },
      async ({ caller, params, reply, body }) => {
        if (!isId(params.id)) throw notFound();
        await limitPortalReplays(deps.pool, caller, reply);
        const replay = await replayEvent(deps, caller.orgId, params.id, {
          isNewWebhookId: body?.webhook_id === "new",
        });
        void reply.code(202);
        return { ...replay, source_event_id: params.id };
      },
    ),
    cancel: route(
      {
        summary: "Cancel an event that waits",
        description:
          "It is not sent any more, or taken out of its mailbox, and reads as CANCELED. It stays billed: it was accepted.",
        params: IdParams,
        response: { 200: CanceledEvent },
        errors: {
          409: "It has ended, is being sent, was claimed by a consumer, or may have reached its agent",
        },
      },
      ({ caller, params }) => {
        if (!isId(params.id)) throw notFound();
        return cancelEvent(deps, caller.orgId, params.id);
      },
    ),
  };
}
