import { type Static, Type } from "typebox";
import type { Caller } from "../http/contract/credentials.ts";
import { isId } from "../postgres/ids.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { Handoff, handoffAnswer } from "../handoff/record/handoffAnswer.ts";
import { type RouteDefinition, route } from "../http/contract/route.ts";
import { IdParams } from "../http/contract/schemas.ts";
import { attemptAnswer, eventAnswer, summaryAnswer } from "./answers.ts";
import { listEvents } from "./listEvents.ts";
import { readEvent } from "./readEvent.ts";
import { type ReplayDeps, replayEvent } from "./replayEvent.ts";
import { DeliveryAttempt, Event, EventQuery, EventSummary, Replay } from "./schemas.ts";
import type { EventScope } from "./store.ts";

/** `/api/v1/events`: what was accepted and what became of it. */
export function eventRoutes(deps: ReplayDeps): Record<"list" | "read" | "replay", RouteDefinition> {
  const mailboxRetentionMs = deps.config.mailboxRetentionSeconds * 1000;
  const scopeOf = (caller: Caller): EventScope => ({ orgId: caller.orgId, mailboxRetentionMs });
  return {
    list: route(
      {
        summary: "List events, newest first",
        description: "One page without a total. An id that is no target of the workspace matches nothing.",
        querystring: EventQuery,
        response: { 200: Type.Object({ events: Type.Array(EventSummary) }) },
      },
      async ({ caller, query }) => {
        const { limit, offset, before, status, correlation_id: correlationId } = query;
        const targetId = targetOf(query);
        if (targetId !== undefined && !isId(targetId)) return { events: [] };
        const filter = { ...scopeOf(caller), targetId, status, correlationId, before, limit, offset };
        const events = await listEvents(deps.queries, filter);
        return { events: events.map(summaryAnswer) };
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
        const { event, attempts, dueAtMs, handoff } = await readEvent(
          deps.queries,
          scopeOf(caller),
          params.id,
        );
        return {
          event: eventAnswer(event, attempts, dueAtMs),
          delivery_attempts: attempts.map((attempt) => attemptAnswer(event.id, attempt)),
          ...(event.kind === 3 && { handoff: handoffAnswer(handoff) }),
        };
      },
    ),
    replay: route(
      {
        summary: "Deliver an event's payload once more, as a new event that is not billed",
        description:
          "Its deliveries carry the id of the event that they repeat in `x-source-event-id`. An event that is QUEUED or RETRYING is not replayed beside its own schedule.",
        params: IdParams,
        response: { 202: Replay },
        errors: {
          409: "It is still being delivered, its target was deleted, its mailbox is disabled, or its payload has expired",
        },
      },
      async ({ caller, params, reply }) => {
        if (!isId(params.id)) throw notFound();
        const replay = await replayEvent(deps, caller.orgId, params.id);
        void reply.code(202);
        return { ...replay, source_event_id: params.id };
      },
    ),
  };
}

function targetOf(query: Static<typeof EventQuery>): string | undefined {
  const { endpoint_id: endpointId, target_id: targetId } = query;
  if (endpointId !== undefined && targetId !== undefined && endpointId !== targetId) {
    throw new ApiError(400, "endpoint_id and target_id are one filter: give one of them");
  }
  return targetId ?? endpointId;
}
