import { randomUUID } from "node:crypto";
import { type Static, Type } from "typebox";
import { maxPayloadBytes, readPayloadPart } from "./payloadPart.ts";
import { EventTypeName, Id, itemFilter, Name, Notice, notice, PayloadPart, Status } from "./schemas.ts";
import { call, changes, defineTool, read, reads, type Tool, type ToolContext } from "./tool.ts";
import { fieldsOf, nullable, NullableString, Timestamp } from "../http/contract/schemas.ts";

/** Fields for sending an item to a target, or a publication to a customer's targets. */
export const itemFields = {
  payload: Type.Unknown({ description: "Any JSON" }),
  event_type: Type.Optional(EventTypeName("Type of the event, such as order.created")),
  correlation_id: Type.Optional(Name("The same id for all items that belong together")),
  ordering_key: Type.Optional(Name("For mailboxes: messages with the same key are claimed in order")),
};

const NewItem = Type.Object({ ...itemFields, idempotency_key: Type.Optional(Type.String()) });

/** Sends an item or a publication. Without an idempotency key it gets a random one, so that retries of this call are safe. */
export function handOver<T>(context: ToolContext, path: string, item: Static<typeof NewItem>): Promise<T> {
  return call<T>(context, {
    method: "POST",
    path,
    headers: {
      "idempotency-key": item.idempotency_key ?? randomUUID(),
      "x-event-type": item.event_type,
      "x-correlation-id": item.correlation_id,
      "x-ordering-key": item.ordering_key,
    },
    body: item.payload,
  });
}

const sendItem = defineTool(
  {
    name: "send_item",
    description:
      "Send an item to a target: to a webhook, to a mailbox from which consumers claim it, or to an agent. When this tool returns, the item is stored and will be delivered; get_item shows its status.",
    annotations: changes("Send an item", { openWorldHint: true }),
    input: {
      target_id: Id("From list_targets"),
      ...itemFields,
      idempotency_key: Type.Optional(
        Name("Idempotency key: repeated requests with the same key and payload create only one item"),
      ),
    },
    output: { id: Type.String(), status: Type.String() },
  },
  (input, context) => handOver(context, `/t/${input.target_id}`, input),
);

/** An event of the interface, where `endpoint_id` is the target's id. */
interface EventAnswer extends Record<string, unknown> {
  id: string;
  endpoint_id: string;
}

const ListedItem = Type.Object({
  id: Type.String(),
  target_id: Type.String(),
  event_type: NullableString,
  status: Type.String(),
  created_at: Timestamp,
});

const listItems = defineTool(
  {
    name: "list_items",
    description: "List accepted items, newest first, without their payloads.",
    annotations: reads("List items"),
    input: {
      ...itemFilter,
      status: Type.Optional(Status),
      before: Type.Optional(Id("Only items older than the item with this id: for the next page")),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "Default: 20" })),
    },
    output: { notice: Notice, items: Type.Array(ListedItem), next_before: NullableString },
  },
  async (input, context) => {
    const query = { limit: 20, ...input };
    const { events } = await read<{ events: EventAnswer[] }>(context, "/api/v1/events", query);
    return {
      notice,
      items: events.map((event) => fieldsOf(ListedItem, { ...event, target_id: event.endpoint_id })),
      next_before: events.length < query.limit ? null : (events.at(-1)?.id ?? null),
    };
  },
);

const Attempt = Type.Object({
  status_code: Type.Integer({ description: "HTTP status of the response; 0 if there was no response" }),
  duration_ms: Type.Integer(),
  error: NullableString,
  attempted_at: Timestamp,
  response_body: NullableString,
});

const Item = Type.Object({
  id: Type.String(),
  target_id: Type.String(),
  target_kind: Type.String(),
  event_type: NullableString,
  correlation_id: NullableString,
  status: Type.String(),
  attempts: Type.Integer(),
  next_attempt_at: nullable(Timestamp),
  last_error: NullableString,
  source_event_id: NullableString,
  created_at: Timestamp,
});

const Handoff = Type.Object({
  state: NullableString,
  status_message: NullableString,
  outcome: NullableString,
  error: NullableString,
});

interface ItemAnswer {
  event: EventAnswer;
  delivery_attempts: Record<string, unknown>[];
  handoff?: Record<string, unknown> | null;
}

const maxAttemptsShown = 10;

const getItem = defineTool(
  {
    name: "get_item",
    description: `Read an item: its status, its last ${maxAttemptsShown} delivery attempts, its payload and, if it was sent to an agent, the state, last message and outcome of the agent's task (handoff), without its artifacts. A response has up to 32 KiB of the payload; next_offset_bytes is the offset of the next part.`,
    annotations: reads("Read an item"),
    input: {
      id: Id("Id of the item; a mailbox message has the same id as its item"),
      payload_offset_bytes: Type.Optional(
        Type.Integer({ minimum: 0, description: "Offset of the part of the payload. Default: 0" }),
      ),
      payload_limit_bytes: Type.Optional(
        Type.Integer({
          minimum: 1024,
          maximum: maxPayloadBytes,
          description: "Maximum length of the part. Default: 32 KiB",
        }),
      ),
    },
    output: {
      notice: Notice,
      item: Item,
      attempts: Type.Array(Attempt),
      handoff: nullable(Handoff),
      payload: nullable(PayloadPart),
    },
  },
  async (input, context) => {
    const [{ event, delivery_attempts, handoff }, payload] = await Promise.all([
      read<ItemAnswer>(context, `/api/v1/events/${input.id}`),
      readPayloadPart(context, input.id, input.payload_offset_bytes, input.payload_limit_bytes),
    ]);
    return {
      notice,
      item: fieldsOf(Item, { ...event, target_id: event.endpoint_id }),
      attempts: delivery_attempts.slice(-maxAttemptsShown).map((attempt) => fieldsOf(Attempt, attempt)),
      handoff: handoff ? fieldsOf(Handoff, handoff) : null,
      payload,
    };
  },
);

const answerHandoff = defineTool(
  {
    name: "answer_handoff",
    description:
      "Send a message to an agent whose task waits for input or authorization (get_item shows handoff.state INPUT_REQUIRED or AUTH_REQUIRED).",
    annotations: changes("Answer an agent", { openWorldHint: true }),
    input: {
      item_id: Id("Id of the item that was sent to the agent"),
      message: Type.Unknown({ description: "Any JSON; a string is sent as text" }),
      idempotency_key: Type.Optional(
        Name("Idempotency key: a repeated request with the same key sends the message only once"),
      ),
    },
    output: { notice: Notice, handoff: Handoff },
  },
  async ({ item_id, message, idempotency_key }, context) => {
    const { handoff } = await call<{ handoff: Record<string, unknown> }>(context, {
      method: "POST",
      path: `/api/v1/events/${item_id}/handoff/message`,
      headers: { "idempotency-key": idempotency_key ?? randomUUID() },
      body: message,
    });
    return { notice, handoff: fieldsOf(Handoff, handoff) };
  },
);

/** Tools that send items and show their state. */
export const itemTools: readonly Tool[] = [sendItem, listItems, getItem, answerHandoff];
