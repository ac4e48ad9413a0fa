import { type Static, Type } from "typebox";
import { maxPayloadBytes, partOf } from "./payloadPart.ts";
import { EventTypeName, Moment, Notice, notice, PayloadPart } from "./schemas.ts";
import { call, changes, defineTool, read, reads, type Tool } from "./tool.ts";
import { fieldsOf, nullable } from "../http/contract/schemas.ts";

/** A name that becomes a path segment: `.` and `..` would name another path. */
const TypeName = Type.String({
  pattern: "^(?!\\.\\.?$)[!-)+-~](?:[ -)+-~]{0,254}[!-)+-~])?$",
  description: "As items carry it in event_type, such as order.created",
});

const ListedType = Type.Object({
  name: Type.String(),
  description: Type.String(),
  group: Type.String({ description: "What it belongs to; empty for none" }),
  deprecated: Type.Boolean({ description: "Whether it is on its way out: begin nothing with it" }),
  updated_at: Moment,
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
      "List the event types that the organization describes, by name, 100 at a time: after is the last name of the page before. An empty list means that there is no catalogue.",
    annotations: reads("List event types"),
    input: {
      prefix: Type.Optional(EventTypeName("Only types whose name begins with this")),
      deprecated: Type.Optional(Type.Boolean({ description: "Only those on their way out, or not" })),
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
      "Read an event type: what it means, the JSON Schema of its payload, and an example. One answer holds 16 KiB of each: next_offset_bytes says where the next part begins.",
    annotations: reads("Read an event type"),
    input: {
      name: TypeName,
      offset_bytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: "Where the parts of schema and example begin; 0 unless said",
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
      "Describe an event type: makes it, or replaces what is said of one that there is, as a whole: what is left out becomes empty. From the first type on, targets can newly name only types that are described.",
    annotations: changes("Describe an event type", { destructiveHint: true, idempotentHint: true }),
    input: {
      name: TypeName,
      description: Type.Optional(Type.String({ description: "What happened when it is sent" })),
      group: Type.Optional(Type.String({ description: "What it belongs to, such as Orders" })),
      deprecated: Type.Optional(Type.Boolean({ description: "Whether it is on its way out" })),
      schema: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: "A JSON Schema of its payload" }),
      ),
      example: Type.Optional(Type.Unknown({ description: "A payload as it may be" })),
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
