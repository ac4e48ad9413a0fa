import type pg from "pg";
import { type Static, Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { customerChanges, customerOf, customerReads } from "../http/contract/scope.ts";
import { isHandoff } from "../postgres/kinds.ts";
import { ApiError, found, idOf, orRefused } from "../http/contract/errors.ts";
import { Handoff, handoffAnswer } from "../handoff/record/handoffAnswer.ts";
import type { ReadTurns } from "../http/contract/readTurns.ts";
import { routesOf } from "../http/contract/route.ts";
import { attemptAnswer, eventAnswer, listedAnswer } from "./answers.ts";
import { cancelEvent } from "./cancelEvent.ts";
import { listEvents } from "./listEvents.ts";
import { readEvent, readPayload } from "./readEvent.ts";
import { turnOf } from "./findIds.ts";
import { cancelRefusals, payloadRefusals, replayRefusals } from "./refusals.ts";
import { type ReplayDeps, replayEvent } from "./replayEvent.ts";
import {
  CanceledEvent,
  DeliveryAttempt,
  Event,
  EventQuery,
  EventSummary,
  type OptionalField,
  optionalFieldNames,
  Replay,
  ReplayBody,
} from "./schemas.ts";
import type { EventScope } from "./store.ts";
import examples from "./examples.json" with { type: "json" };
import { nullable } from "../http/contract/schemas.ts";
import type { FastifyReply } from "fastify";
import { countOrRefuse } from "../http/contract/countOrRefuse.ts";
import { idRange, isId } from "../postgres/ids.ts";
import type { EventFilter } from "./eventFilter.ts";

const route = routesOf<EventDeps>("Events");

type EventDeps = ReplayDeps & { pool: pg.Pool; reads: ReadTurns };

function scopeOf({ config }: EventDeps, { orgId }: Caller): EventScope {
  return { orgId, mailboxRetentionMs: config.mailboxRetentionMs };
}

const payloadRoute = route("readPayload", "GET /api/v1/events/:id/payload", {
  access: usersAndKeys("viewer", { takes: ["read", "consume", "customer", "portal"], names: "event" }),
  summary: "Read an event's payload, byte for byte",
  response: { 200: Type.Unknown({ description: "The item as it was accepted" }) },
  answerHeaders: ["Content-Disposition"],
  errors: { 410: "The payload expired in its mailbox, or was erased" },
  examples: { answer: { event_type: "order.created", order: { id: 1001, total_cents: 4200 } } },
  async handle({ caller, params, reply }, deps) {
    const read = await readPayload(deps.queries, scopeOf(deps, caller), idOf(params.id));
    const { payload } = orRefused(read, "read", payloadRefusals);
    void reply
      .type("application/json")
      .header("content-disposition", `attachment; filename="${params.id}.json"`)
      .header("x-content-type-options", "nosniff");
    return payload;
  },
});

const listRoute = route("listEvents", "GET /api/v1/events", {
  access: usersAndKeys("viewer", customerReads("own")),
  summary: "List events, newest or oldest first",
  description:
    "Returns one page, without a total count. An id that is not a target of the organization matches no events.",
  query: EventQuery,
  response: { 200: Type.Object({ events: Type.Array(EventSummary) }) },
  errors: { 429: "The organization has too many lists with such filters in progress" },
  examples: examples.listEvents,
  async handle(call, deps) {
    const { caller, query } = call;
    const fields = readFields(query.fields);
    const filter = filterOf(query, { ...scopeOf(deps, caller), customerUid: customerOf(caller.scope) });
    if (filter === undefined) return { events: [] };
    const wants = {
      replays: fields.has("replayed_by"),
      handoffs: fields.has("handoff"),
      progress: fields.difference(new Set(["replayed_by", "handoff"])).size > 0,
    };
    const turn = turnOf(filter);
    const page = await (turn === undefined
      ? listEvents(deps.queries, filter, wants)
      : deps.reads.run(turn, call, (signal) => listEvents(deps.queries, filter, { ...wants, signal })));
    return { events: page.events.map((event) => listedAnswer(event, page, fields)) };
  },
});

const readRoute = route("readEvent", "GET /api/v1/events/:id", {
  access: usersAndKeys("viewer", customerReads("event")),
  summary: "Read an event and its delivery attempts",
  response: {
    200: Type.Object({
      event: Event,
      delivery_attempts: Type.Array(DeliveryAttempt),
      handoff: Type.Optional(
        nullable(Handoff, "Only for a2a targets; null before the agent has accepted the item"),
      ),
    }),
  },
  async handle({ caller, params }, deps) {
    const story = await readEvent(deps.queries, scopeOf(deps, caller), idOf(params.id));
    const { event, attempts, progress, replayedBy, handoff } = found(story);
    return {
      event: eventAnswer(event, progress, replayedBy),
      delivery_attempts: attempts.map((attempt) => attemptAnswer(event.id, attempt)),
      ...(isHandoff(event.kind) && { handoff: handoffAnswer(handoff) }),
    };
  },
});

const replayRoute = route("replayEvent", "POST /api/v1/events/:id/replay", {
  access: usersAndKeys("member", customerChanges("event")),
  audit: { none: "the new event is the record of the replay" },
  summary: "Replay an event: deliver its payload again as a new event that is not billed",
  description:
    "The new event's deliveries keep the `webhook-id` of the source event, unless the body asks for a new `webhook-id`; `x-event-id` is the new event, `x-source-event-id` the source event. An event that is QUEUED or RETRYING cannot be replayed.",
  body: ReplayBody,
  response: { 202: Replay },
  errors: {
    409: "The event is still being delivered, its target was deleted, its mailbox is disabled, or its payload has expired",
    410: "The event's payload was erased",
    429: "The customer has requested too many replays",
  },
  examples: examples.replayEvent,
  async handle({ caller, params, reply, body }, deps) {
    const sourceId = idOf(params.id);
    await limitPortalReplays(deps.pool, caller, reply);
    const isNewWebhookId = body?.webhook_id === "new";
    const replay = await replayEvent(deps, caller.orgId, sourceId, { isNewWebhookId });
    const { id, status } = orRefused(replay, "replayed", replayRefusals);
    void reply.code(202);
    return { id, status, source_event_id: sourceId };
  },
});

const cancelRoute = route("cancelEvent", "POST /api/v1/events/:id/cancel", {
  access: usersAndKeys("member", { takes: ["customer"], names: "event" }),
  audit: { none: "the event itself records its cancellation" },
  summary: "Cancel a waiting event",
  description:
    "The event becomes CANCELED: it is no longer sent, or is removed from its mailbox. It is still billed, because it was accepted.",
  response: { 200: CanceledEvent },
  errors: {
    409: "The event has ended, is being sent, was claimed by a consumer, or may have reached its agent",
  },
  examples: { answer: { id: "019a4b6c7d8e7f0011223344556677ad", status: "CANCELED" } },
  async handle({ caller, params }, deps) {
    const canceled = await cancelEvent(deps, caller.orgId, idOf(params.id));
    const { id, status } = orRefused(canceled, "canceled", cancelRefusals);
    return { id, status };
  },
});

const windowSeconds = 60;
/** Replays per customer and window: two pages of failed events. */
const perCustomer = 100;

/**
 * Counts a replay that a customer requests in its portal, by the database's clock and over all nodes. Such replays are limited
 * because nobody is billed for them. Requests by the organization itself are not limited.
 * @throws {ApiError} 429 when the customer has made all replays that it may make in this minute.
 */
async function limitPortalReplays(pool: pg.Pool, caller: Caller, reply: FastifyReply): Promise<void> {
  if (caller.kind !== "portal") return;
  const window = { scope: "replays", subject: caller.customerId, limit: perCustomer, windowSeconds };
  const refusal = `too many replays: a customer may request ${perCustomer} a minute`;
  await countOrRefuse(pool, { ...window, refusal }, reply);
}

type Query = Static<typeof EventQuery>;

/** The filter of a query; undefined when no event can match. @throws {ApiError} 400 for parameters that contradict each other. */
function filterOf(
  query: Query,
  scope: EventScope & Pick<EventFilter, "customerUid">,
): EventFilter | undefined {
  const targetId = targetOf(query);
  if (targetId !== undefined && !isId(targetId)) return undefined;
  const customerUid = scope.customerUid ?? query.customer_uid;
  if (query.customer_uid !== undefined && query.customer_uid !== customerUid) return undefined;
  const { limit, offset, order, status } = query;
  return {
    ...scope,
    customerUid,
    targetId,
    status,
    correlationId: query.correlation_id,
    eventType: query.event_type,
    handoffState: query.handoff_state,
    replayId: query.replay_id,
    ...idRange(query),
    order,
    limit,
    offset,
  };
}

/** The names in `fields`. @throws {ApiError} 400 for an unknown name. */
function readFields(text: string | undefined): ReadonlySet<OptionalField> {
  const names = text === undefined ? [] : text.split(",");
  for (const name of names) {
    if (!optionalFieldNames.some((known) => known === name)) {
      throw new ApiError(
        400,
        `fields must be a list of ${optionalFieldNames.join(", ")}, separated by commas`,
      );
    }
  }
  return new Set(names as OptionalField[]);
}

function targetOf({ endpoint_id: endpointId, target_id: targetId }: Query): string | undefined {
  if (endpointId !== undefined && targetId !== undefined && endpointId !== targetId) {
    throw new ApiError(400, "endpoint_id and target_id are the same filter: give one of them");
  }
  return targetId ?? endpointId;
}

/** `/api/v1/events`: accepted items and their states. */
export const eventRoutes = [listRoute, readRoute, payloadRoute, replayRoute, cancelRoute];
