import { type Static, Type } from "typebox";
import { maxPayloadBytes, partOf } from "./payloadPart.ts";
import { EventTypeName, Notice, notice, PayloadPart } from "./schemas.ts";
import { call, changes, defineTool, read, reads, type Tool } from "./tool.ts";
import { fieldsOf, nullable, Timestamp } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";

/** A name that becomes a path segment. */
const TypeName = textOf("pathEventType", {
  description: "The event_type of an item, such as order.created",
});

const ListedType = Type.Object({
  name: Type.String(),
  description: Type.String(),
  group: Type.String({ description: "The group to which the event type belongs; empty for none" }),
  deprecated: Type.Boolean({ description: "Whether the event type is deprecated: do not start to use it" }),
  updated_at: Timestamp,
});

const eventTypeAnswer = {
  notice: Notice,
  event_type: ListedType,
  schema: nullable(PayloadPart),
  example: nullable(PayloadPart),
};

const listEventTypes = defineTool(
  {
    name: "list_event_types",
    description:
      "List the event types in the organization's catalogue, sorted by name, 100 per page. For the next page, set after to the last name of the previous page. An empty list means that the organization has no catalogue.",
    annotations: reads("List event types"),
    input: {
      prefix: Type.Optional(EventTypeName("Only types whose name begins with this")),
      deprecated: Type.Optional(
        Type.Boolean({
          description: "true: only deprecated event types; false: only event types that are not deprecated",
        }),
      ),
      after: Type.Optional(TypeName),
    },
    output: { notice: Notice, event_types: Type.Array(ListedType) },
  },
  async ({ prefix, deprecated, after }, context) => {
    const query = { limit: 100, prefix, after, deprecated: deprecated?.toString() };
    const { event_types } = await read<{ event_types: StoredType[] }>(context, "/api/v1/event-types", query);
    return { notice, event_types: event_types.map((one) => fieldsOf(ListedType, one)) };
  },
);

interface StoredType extends Record<string, unknown> {
  schema: unknown;
  example: unknown;
}

const getEventType = defineTool(
  {
    name: "get_event_type",
    description:
      "Read an event type: its description, the JSON Schema of its payload, and an example. A response has up to 16 KiB of the schema and of the example; next_offset_bytes is the offset of the next part.",
    annotations: reads("Read an event type"),
    input: {
      name: TypeName,
      offset_bytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: "Offset of the parts of schema and example. Default: 0",
        }),
      ),
    },
    output: eventTypeAnswer,
  },
  async ({ name, offset_bytes }, context) => answerOf(await read(context, pathTo(name)), offset_bytes),
);

const putEventType = defineTool(
  {
    name: "put_event_type",
    description:
      "Create an event type in the catalogue, or replace an existing one. Omitted fields become empty. Once the catalogue has an event type, targets can add only types of the catalogue to event_types.",
    annotations: changes("Create or replace an event type", { destructiveHint: true, idempotentHint: true }),
    input: {
      name: TypeName,
      description: Type.Optional(
        Type.String({ description: "What the event means: what has happened when it is sent" }),
      ),
      group: Type.Optional(
        Type.String({ description: "The group to which the event type belongs, such as Orders" }),
      ),
      deprecated: Type.Optional(
        Type.Boolean({ description: "Whether the event type is deprecated. Default: false" }),
      ),
      schema: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema of the payload" }),
      ),
      example: Type.Optional(Type.Unknown({ description: "Example of a payload" })),
    },
    output: eventTypeAnswer,
  },
  async ({ name, ...body }, context) =>
    answerOf(await call(context, { method: "PUT", path: pathTo(name), body })),
);

function pathTo(name: string): string {
  return `/api/v1/event-types/${encodeURIComponent(name)}`;
}

function answerOf(type: StoredType, offsetBytes = 0) {
  const part = (value: unknown): Static<typeof PayloadPart> | null =>
    value === null ? null : partOf(Buffer.from(JSON.stringify(value)), offsetBytes, maxPayloadBytes / 2);
  return {
    notice,
    event_type: fieldsOf(ListedType, type),
    schema: part(type.schema),
    example: part(type.example),
  };
}

/** Tools for an organization's catalogue of event types: agents read it before they send, and add missing types. */
export const eventTypeTools: readonly Tool[] = [listEventTypes, getEventType, putEventType];
