import { type Static, Type } from "typebox";
import { isId } from "../db/ids.ts";
import type { Queries } from "../db/tables.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { type RouteDefinition, route } from "../http/route.ts";
import { IdParams } from "../http/schemas.ts";
import { attemptAnswer, eventAnswer, summaryAnswer } from "./answers.ts";
import { listEvents } from "./listEvents.ts";
import { readEvent } from "./readEvent.ts";
import { replayEvent } from "./replayEvent.ts";
import { DeliveryAttempt, Event, EventQuery, EventSummary, Replay } from "./schemas.ts";

export interface EventRouteDeps {
  queries: Queries;
  nowMs: () => number;
  /** Tells the local dispatcher that something may have become due. */
  onDue: () => void;
}

/** `/api/v1/events`: what was accepted and what became of it. */
export function eventRoutes(deps: EventRouteDeps): Record<"list" | "read" | "replay", RouteDefinition> {
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
        const filter = { orgId: caller.orgId, targetId, status, correlationId, before, limit, offset };
        const events = await listEvents(deps.queries, filter);
        return { events: events.map(summaryAnswer) };
      },
    ),
    read: route(
      {
        summary: "Read an event and its delivery attempts",
        params: IdParams,
        response: {
          200: Type.Object({ event: Event, delivery_attempts: Type.Array(DeliveryAttempt) }),
        },
      },
      async ({ caller, params }) => {
        if (!isId(params.id)) throw notFound();
        const { event, attempts, dueAtMs } = await readEvent(deps.queries, caller.orgId, params.id);
        return {
          event: eventAnswer(event, attempts, dueAtMs),
          delivery_attempts: attempts.map((attempt) => attemptAnswer(event.id, attempt)),
        };
      },
    ),
    replay: route(
      {
        summary: "Deliver an event's payload once more, as a new event that is not billed",
        params: IdParams,
        response: { 202: Replay },
      },
      async ({ caller, params, reply }) => {
        if (!isId(params.id)) throw notFound();
        const id = await replayEvent(deps, caller.orgId, params.id);
        void reply.code(202);
        return { id, status: "QUEUED", source_event_id: params.id };
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
