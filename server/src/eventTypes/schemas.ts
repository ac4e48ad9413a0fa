import { Type } from "typebox";
import { lineOfText, linesOfText } from "../http/contract/plainText.ts";
import { described, Id, oneOf, pageByName, Timestamp } from "../http/contract/schemas.ts";

/** The most bytes of a schema, and of an example, as JSON. */
export const maxJsonBytes = 65_536;
export const maxDescriptionCharacters = 4_096;
export const maxGroupCharacters = 128;
/** The most event types of an organization, and of a document to import. */
export const maxEventTypes = 1_000;

export type JsonSchema = Record<string, unknown>;

const listed = {
  name: Type.String({ description: "As items carry it in event_type" }),
  id: described(Id, "The service's id, by which the audit log names it"),
  description: Type.String(),
  group: Type.String({ description: "What it belongs to; empty for none" }),
  deprecated: Type.Boolean({ description: "Whether it is on its way out" }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** An event type in a list: without its schema and its example, which may be large. */
export const ListedEventType = Type.Object(listed, { title: "ListedEventType" });

const Schema = Type.Unsafe<JsonSchema | null>(
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description:
      "A JSON Schema of its items' payload, of up to 64 KiB: of draft 2020-12, or of draft 7 if its $schema says so. null for none",
    examples: [{ type: "object", properties: { order: { type: "integer" } }, required: ["order"] }],
  }),
);

const Example = Type.Unknown({
  description:
    "A payload as it may be: any JSON of up to 64 KiB; it is not held against the schema. null for none",
});

export const EventType = Type.Object({ ...listed, schema: Schema, example: Example }, { title: "EventType" });

export const EventTypeInput = Type.Object(
  {
    description: Type.Optional(linesOfText({ maxLength: maxDescriptionCharacters })),
    group: Type.Optional(
      described(lineOfText({ maxLength: maxGroupCharacters }), "What it belongs to, such as Orders"),
    ),
    deprecated: Type.Optional(Type.Boolean({ description: "Default: false" })),
    schema: Type.Optional(Schema),
    example: Type.Optional(Example),
  },
  { title: "EventTypeInput" },
);

const NameText = Type.String({ pattern: "^[ -~]{1,256}$" });

export const EventTypeQuery = Type.Object({
  ...pageByName(NameText, ["name", "type"]),
  deprecated: Type.Optional(
    oneOf(["true", "false"], "Only those that are deprecated, or only those that are not"),
  ),
});

export const DeletedEventType = Type.Object(
  {
    deleted: Type.Literal(true),
    naming_targets: Type.Integer({
      description:
        "How many targets name it in their event_types: they keep it, and go on getting such items",
    }),
  },
  { title: "DeletedEventType" },
);

export const OpenApiDocument = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String()], {
  description:
    "An OpenAPI document of version 3.1 or 3.2 with webhooks: as JSON, or the text of one in YAML as a JSON string",
});

export const ImportQuery = Type.Object({
  dry_run: Type.Optional(oneOf(["true", "false"], "true: says what the import would do, and does nothing")),
});

const Names = Type.Array(Type.String());

export const ImportedEventTypes = Type.Object(
  {
    dry_run: Type.Boolean(),
    created: Names,
    updated: Names,
    unchanged: Names,
    refused: Type.Array(Type.Object({ name: Type.String(), reason: Type.String() }), {
      description: "Webhooks that could not become event types, each with the reason; the others did",
    }),
  },
  { title: "ImportedEventTypes" },
);
