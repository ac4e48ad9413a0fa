import { randomUUID } from "node:crypto";
import { Type } from "typebox";
import { handOver, itemFields } from "./handOver.ts";
import { callJson, type InterfaceCall } from "./interfaceCall.ts";
import { maxPayloadBytes, readPayloadPart } from "./payloadPart.ts";
import {
  closed,
  Id,
  itemFilter,
  MaybeMoment,
  Moment,
  Name,
  Notice,
  notice,
  PayloadPart,
  Status,
  Text,
} from "./schemas.ts";
import { changes, defineTool, reads, type Tool } from "./tool.ts";

/** Handing items over, and seeing what became of them. */
export function itemTools(): Tool[] {
  return [sendItem(), listItems(), getItem(), answerHandoff()];
}

function sendItem(): Tool {
  return defineTool(
    {
      name: "send_item",
      description:
        "Hand an item to a target: a webhook that it is posted to, a mailbox that others read, or an agent. When this answers, the item is stored and will be delivered; get_item shows how that goes.",
      annotations: changes("Send an item", { openWorldHint: true }),
      inputSchema: Type.Object(
        {
          target_id: Id("From list_targets"),
          ...itemFields,
          idempotency_key: Type.Optional(
            Name("Names this item: sent again with the same key and payload it stays one item"),
          ),
        },
        closed,
      ),
      outputSchema: Type.Object({ id: Type.String(), status: Type.String() }),
    },
    async (input, { callInterface, signal }) =>
      handOver(callInterface, `/t/${input.target_id}`, input, signal),
  );
}

interface ListedItem {
  id: string;
  endpoint_id: string;
  event_type: string | null;
  status: string;
  created_at: number;
}

function listItems(): Tool {
  return defineTool(
    {
      name: "list_items",
      description: "List accepted items, newest first, without their payloads.",
      annotations: reads("List items"),
      inputSchema: Type.Object(
        {
          ...itemFilter,
          status: Type.Optional(Status),
          before: Type.Optional(Id("Only items older than this one: the next page")),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "20 unless said" })),
        },
        closed,
      ),
      outputSchema: Type.Object({
        notice: Notice,
        items: Type.Array(
          Type.Object({
            id: Type.String(),
            target_id: Type.String(),
            event_type: Text,
            status: Type.String(),
            created_at: Moment,
          }),
        ),
        next_before: Text,
      }),
    },
    async (input, { callInterface, signal }) => {
      const query = { limit: 20, ...input };
      const call: InterfaceCall = {
        method: "GET",
        path: "/api/v1/events",
        query,
        isRepeatable: true,
        signal,
      };
      const { events } = await callJson<{ events: ListedItem[] }>(callInterface, call);
      return {
        notice,
        items: events.map(({ id, endpoint_id, event_type, status, created_at }) => ({
          id,
          target_id: endpoint_id,
          event_type,
          status,
          created_at,
        })),
        next_before: events.length < query.limit ? null : (events.at(-1)?.id ?? null),
      };
    },
  );
}

const Attempt = Type.Object({
  status_code: Type.Integer({ description: "0 when there was no answer" }),
  duration_ms: Type.Integer(),
  error: Text,
  attempted_at: Moment,
  response_body: Text,
});

const Item = Type.Object({
  id: Type.String(),
  target_id: Type.String(),
  target_kind: Type.String(),
  event_type: Text,
  correlation_id: Text,
  status: Type.String(),
  attempts: Type.Integer(),
  next_attempt_at: MaybeMoment,
  last_error: Text,
  source_event_id: Text,
  created_at: Moment,
});

const Handoff = Type.Object({
  state: Text,
  status_message: Text,
  outcome: Text,
  error: Text,
});

interface ReadItem {
  event: Record<string, unknown> & { endpoint_id: string };
  delivery_attempts: Record<string, unknown>[];
  handoff?: Record<string, unknown> | null;
}

const maxAttemptsShown = 10;

function getItem(): Tool {
  return defineTool(
    {
      name: "get_item",
      description: `Read an item: what became of it, its last ${maxAttemptsShown} delivery attempts, and its payload, of which one answer holds 32 KiB: next_offset_bytes says where the next part begins.`,
      annotations: reads("Read an item"),
      inputSchema: Type.Object(
        {
          id: Id("The item's, or the mailbox message's, which are the same"),
          payload_offset_bytes: Type.Optional(
            Type.Integer({ minimum: 0, description: "Where the part of the payload begins; 0 unless said" }),
          ),
          payload_limit_bytes: Type.Optional(
            Type.Integer({ minimum: 1024, maximum: maxPayloadBytes, description: "32 KiB unless said" }),
          ),
        },
        closed,
      ),
      outputSchema: Type.Object({
        notice: Notice,
        item: Item,
        attempts: Type.Array(Attempt),
        handoff: Type.Union([Handoff, Type.Null()]),
        payload: Type.Union([PayloadPart, Type.Null()]),
      }),
    },
    async (input, context) => {
      const { callInterface, signal } = context;
      const path = `/api/v1/events/${input.id}`;
      const read = { method: "GET", path, isRepeatable: true, signal } as const;
      const [story, payload] = await Promise.all([
        callJson<ReadItem>(callInterface, read),
        readPayloadPart(context, input.id, input.payload_offset_bytes, input.payload_limit_bytes),
      ]);
      const item = { ...story.event, target_id: story.event.endpoint_id };
      const attempts = story.delivery_attempts.slice(-maxAttemptsShown);
      return {
        notice,
        item: fieldsOf(Item, item),
        attempts: attempts.map((attempt) => fieldsOf(Attempt, attempt)),
        handoff: story.handoff ? fieldsOf(Handoff, story.handoff) : null,
        payload,
      };
    },
  );
}

function answerHandoff(): Tool {
  return defineTool(
    {
      name: "answer_handoff",
      description:
        "Answer an agent whose task waits for input (get_item shows handoff.state INPUT_REQUIRED). The message is sent to the agent's task.",
      annotations: changes("Answer an agent", { openWorldHint: true }),
      inputSchema: Type.Object(
        {
          item_id: Id("The item that was handed to the agent"),
          message: Type.Unknown({ description: "Any JSON; a string is sent as text" }),
          idempotency_key: Type.Optional(Name("Names this answer: given again it is sent once")),
        },
        closed,
      ),
      outputSchema: Type.Object({ notice: Notice, handoff: Handoff }),
    },
    async ({ item_id, message, idempotency_key }, { callInterface, signal }) => {
      const { handoff } = await callJson<{ handoff: Record<string, unknown> }>(callInterface, {
        method: "POST",
        path: `/api/v1/events/${item_id}/handoff/message`,
        headers: { "idempotency-key": idempotency_key ?? randomUUID() },
        body: message,
        isRepeatable: true,
        signal,
      });
      return { notice, handoff: fieldsOf(Handoff, handoff) };
    },
  );
}

/** The fields of an answer that the schema names; addresses and future fields are left out. */
export function fieldsOf<Schema extends { properties: object }>(
  { properties }: Schema,
  answer: Record<string, unknown>,
): never {
  return Object.fromEntries(Object.keys(properties).map((name) => [name, answer[name] ?? null])) as never;
}
