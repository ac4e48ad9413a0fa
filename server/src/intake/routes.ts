import { Type } from "typebox";
import { keysCheckedInSql } from "../http/contract/access.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { bucketOf, isId, newId, unknownId } from "../postgres/ids.ts";
import { acceptedStatus } from "../postgres/kinds.ts";
import {
  type FastAnswer,
  routesOf,
  type RouteCall,
  type RouteRecord,
  sendAnswer,
  type WholeRequest,
} from "../http/contract/route.ts";
import { Id, oneOf } from "../http/contract/schemas.ts";
import type { Acceptance, NewItem } from "../items/item.ts";
import type { Traces } from "../telemetry/traces.ts";
import type { Intake } from "./intake.ts";
import { readItem } from "./readItem.ts";
import { refusalOf } from "./refusals.ts";
import { acceptTraced } from "./traceAcceptance.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<IntakeRouteDeps>("Ingestion");

export interface IntakeRouteDeps {
  intake: Intake;
  traces?: Traces | undefined;
  nowMs: () => number;
}

/** Refusals because of the billing state, for the interface's document. */
export const billingRefusals = {
  402: "The organization is suspended",
  403: "The organization is pending, or the request carries a session token instead of an API key",
};

/** Why items are not in the audit log. */
export const itemAudit = { none: "the item itself is the record" };

export const ItemHeaders = Type.Object({
  "idempotency-key": Type.Optional(
    Type.String({ description: "1 to 255 characters; requests with the same key create one item" }),
  ),
  traceparent: Type.Optional(
    Type.String({ description: "W3C Trace Context: the parent of the item's trace, if the service traces" }),
  ),
  "x-event-type": Type.Optional(
    Type.String({ description: "1 to 256 printable ASCII characters; used when the body has no event_type" }),
  ),
  "x-correlation-id": Type.Optional(Type.String({ description: "At most 128 letters, digits, - and _" })),
  "x-ordering-key": Type.Optional(
    Type.String({ description: "For mailboxes: items with the same key are claimed in order" }),
  ),
});

const Accepted = Type.Object(
  {
    id: Id,
    status: oneOf(["QUEUED", "UNREAD"], "UNREAD for mailboxes"),
  },
  { title: "AcceptedItem" },
);

/** `POST /t/:target_id` and `POST /e/:endpoint_id`. */
export function intakeRoutes(deps: IntakeRouteDeps): RouteRecord[] {
  return [sendItemRoute(deps), sendEventRoute(deps)];
}

const sendItemRoute = route("sendItem", "POST /t/:target_id", {
  access: keysCheckedInSql({ takes: ["send", "customer"], names: "target" }),
  summary: "Send an item to a target",
  ...taking("target_id"),
});

const sendEventRoute = route("sendEvent", "POST /e/:endpoint_id", {
  access: keysCheckedInSql({ takes: ["send", "customer"], names: "target" }),
  summary: "Send an event to a legacy endpoint",
  ...taking("endpoint_id"),
});

/** The parts that both routes share. */
function taking<const P extends "target_id" | "endpoint_id">(parameter: P) {
  const legacy = parameter === "endpoint_id";

  /** @throws {ApiError} 400 that names the field or header. The promise rejects with the error for a refused item. */
  function accept(
    { headers, body, id: targetId, key }: PresentedItem,
    { intake, traces, nowMs }: IntakeRouteDeps,
  ): Promise<FastAnswer> {
    const { eventType, correlationId, orderingKey, idempotencyKey } = readItem(headers, body);
    const item: NewItem = {
      id: newId(bucketOf(targetId), nowMs()),
      targetId,
      key,
      legacy,
      payload: body,
      eventType,
      correlationId,
      orderingKey,
      idempotencyKey,
      traceContext: null,
      match: null,
    };
    if (traces === undefined) return intake.add(item).then(answerTo);
    return acceptTraced(traces, item, {
      routePath: legacy ? "/e/:endpoint_id" : "/t/:target_id",
      targetId,
      headers,
      accept: () => intake.add(item),
      answerTo,
    });
  }

  return {
    audit: itemAudit,
    description:
      "202 is sent only after the item is durable. The body is any JSON document, kept byte for byte. A disabled webhook or agent holds the item until it is enabled again.",
    headers: ItemHeaders,
    response: { 202: Accepted },
    errors: {
      ...billingRefusals,
      409: "The mailbox is disabled, or the Idempotency-Key was used with another body",
    },
    examples: examples.sendEvent,
    rawBody: "json",
    async handle({ request, reply, params }: RouteCall<Record<P, string>>, deps: IntakeRouteDeps) {
      const key = requiredKey(request);
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
      // If the path has no id, the request still goes through authorization, so that a wrong key is refused first.
      const id = isId(params[parameter]) ? params[parameter] : unknownId;
      return sendAnswer(reply, await accept({ headers: request.headers, body, id, key }, deps));
    },
    fast: accept,
  } as const;
}

/** A request to send an item; `id` is the target's. */
type PresentedItem = Pick<WholeRequest, "headers" | "body" | "id" | "key">;

/** The answer for an accepted item. @throws {ApiError} for a refused item. */
function answerTo(acceptance: Acceptance): FastAnswer {
  if (!("id" in acceptance)) throw refusalOf(acceptance);
  const status = acceptedStatus(acceptance.kind);
  return {
    status: 202,
    text: `{"id":"${acceptance.id}","status":"${status}"}`,
    headers: acceptance.outcome === "replayed" ? [["idempotency-replayed", "true"]] : undefined,
  };
}
