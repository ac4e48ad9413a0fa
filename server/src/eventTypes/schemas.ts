import { Type } from "typebox";
import { lineOfText, linesOfText } from "../http/contract/plainText.ts";
import { described, Id, oneOf, pageByName, Timestamp } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";

/** The most bytes of a schema, and of an example, as JSON. */
export const maxJsonBytes = 65_536;
export const maxDescriptionCharacters = 4_096;
export const maxGroupCharacters = 128;
/** The most event types of an organization, and of a document to import. */
export const maxEventTypes = 1_000;

export type JsonSchema = Record<string, unknown>;

const listed = {
  name: Type.String({ description: "The value of `event_type` of an item" }),
  id: described(Id, "The service's id for the event type, used in the audit log"),
  description: Type.String(),
  group: Type.String({ description: "The group to which the event type belongs; empty for none" }),
  deprecated: Type.Boolean({ description: "Whether the event type is deprecated" }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** An event type in a list: without its schema and its example, which may be large. */
export const ListedEventType = Type.Object(listed, { title: "ListedEventType" });

const Schema = Type.Unsafe<JsonSchema | null>(
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description:
      "JSON Schema of the payload, up to 64 KiB: draft 2020-12, or draft 7 if `$schema` says so. null for none",
    examples: [{ type: "object", properties: { order: { type: "integer" } }, required: ["order"] }],
  }),
);

const Example = Type.Unknown({
  description:
    "Example of a payload: any JSON, up to 64 KiB. The service does not validate it against the schema. null for none",
});

export const EventType = Type.Object({ ...listed, schema: Schema, example: Example }, { title: "EventType" });

export const EventTypeInput = Type.Object(
  {
    description: Type.Optional(linesOfText({ maxLength: maxDescriptionCharacters })),
    group: Type.Optional(
      described(
        lineOfText({ maxLength: maxGroupCharacters }),
        "The group to which the event type belongs, such as Orders",
      ),
    ),
    deprecated: Type.Optional(Type.Boolean({ description: "Default: false" })),
    schema: Type.Optional(Schema),
    example: Type.Optional(Example),
  },
  { title: "EventTypeInput" },
);

const NameText = textOf("eventType");

export const EventTypeQuery = Type.Object({
  ...pageByName(NameText, ["name", "type"]),
  deprecated: Type.Optional(
    oneOf(
      ["true", "false"],
      "`true`: only deprecated event types; `false`: only event types that are not deprecated",
    ),
  ),
});

export const DeletedEventType = Type.Object(
  {
    deleted: Type.Literal(true),
    naming_targets: Type.Integer({
      description:
        "Number of targets that list the event type in `event_types`. They still receive items of this type",
    }),
  },
  { title: "DeletedEventType" },
);

export const OpenApiDocument = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String()], {
  description:
    "An OpenAPI document of version 3.1 or 3.2 with webhooks: as a JSON object, or as a JSON string that contains YAML",
});

export const ImportQuery = Type.Object({
  dry_run: Type.Optional(
    oneOf(["true", "false"], "`true`: report what the import would do, without changing anything"),
  ),
});

const Names = Type.Array(Type.String());

export const ImportedEventTypes = Type.Object(
  {
    dry_run: Type.Boolean(),
    created: Names,
    updated: Names,
    unchanged: Names,
    refused: Type.Array(Type.Object({ name: Type.String(), reason: Type.String() }), {
      description:
        "Webhooks that cannot become event types, each with the reason. The other webhooks are imported",
    }),
  },
  { title: "ImportedEventTypes" },
);
