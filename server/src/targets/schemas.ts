import { type Static, type TSchema, Type } from "typebox";
import type { TargetKind } from "../db/tables.ts";
import { Id, Timestamp } from "../http/schemas.ts";

export const signingScheme = "standard-webhooks-v1";

const Kind = Type.Unsafe<TargetKind>({ type: "string", enum: ["webhook", "mailbox", "a2a"] });

/** A target as the interface answers it; `secret` only when it was just made. */
export const Target = Type.Object(
  {
    id: Id,
    kind: Kind,
    name: Type.String(),
    description: Type.String(),
    enabled: Type.Boolean(),
    disabled_reason: Type.Optional(
      Type.String({ description: "Why the service disabled the target by itself; absent otherwise" }),
    ),
    url: Type.Optional(Type.String({ description: "Where deliveries go; absent on mailboxes" })),
    secret: Type.Optional(
      Type.String({ description: "The signing secret (`whsec_…`), shown once on creation and on rotation" }),
    ),
    signing_scheme: Type.Optional(Type.Literal(signingScheme)),
    has_previous_signing_secret: Type.Optional(
      Type.Boolean({ description: "True while a rotation is in progress and both secrets sign" }),
    ),
    event_types: Type.Optional(Type.Array(Type.String(), { description: "Empty means all" })),
    max_payload_bytes: Type.Optional(Type.Integer()),
    max_retries: Type.Optional(Type.Integer()),
    retry_interval_seconds: Type.Optional(Type.Integer()),
    max_claims: Type.Optional(
      Type.Union([Type.Integer(), Type.Null()], {
        description:
          "How many claims a message of the mailbox may take before it is dead; null means any number",
      }),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Target" },
);

/** A webhook target as the legacy routes answer it. */
export const Endpoint = Type.Object(
  {
    id: Id,
    name: Type.String(),
    url: Type.String(),
    description: Type.String(),
    event_types: Type.String({ description: "The array of event types as JSON text; `[]` means all" }),
    max_payload_bytes: Type.Integer(),
    max_retries: Type.Integer(),
    retry_interval_seconds: Type.Integer(),
    enabled: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Endpoint" },
);

/** What a PATCH of an endpoint answers: the fields that the contract lists. */
export const PatchedEndpoint = Type.Pick(Endpoint, [
  "id",
  "name",
  "url",
  "description",
  "event_types",
  "enabled",
  "updated_at",
]);

const Name = Type.String({ minLength: 1, maxLength: 256 });
const Url = Type.String({ minLength: 1, maxLength: 2048, examples: ["https://example.com/hooks"] });

/** The bodies that create and change targets; `max_payload_bytes` is bounded by the service's own limit. */
export function targetInputs(maxBodyBytes: number) {
  const options = {
    description: Type.String({ maxLength: 4096 }),
    event_types: Type.Array(
      Type.String({ minLength: 1, maxLength: 256, pattern: "^[ -~]*$", description: "Printable ASCII" }),
      { maxItems: 100, description: "Which event types are delivered; empty means all" },
    ),
    max_payload_bytes: Type.Integer({ minimum: 1, maximum: maxBodyBytes }),
    max_retries: Type.Integer({ minimum: 0, maximum: 50, description: "Attempts after the first" }),
    retry_interval_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  };
  const mailbox = {
    max_claims: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()], {
      description: "Mailboxes: how many claims a message may take before it is dead; null means any number",
    }),
  };
  const changes = { name: Name, url: Url, enabled: Type.Boolean(), ...options };
  return {
    newTarget: Type.Object(
      {
        kind: Type.String({ description: "webhook, mailbox or a2a" }),
        name: Name,
        url: Type.Optional(Url),
        agent_card_url: Type.Optional(Url),
        auth: Type.Optional(
          Type.Object({
            type: Type.String({ description: "bearer or none" }),
            token: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, pattern: "^[!-~]*$" })),
          }),
        ),
        ...allOptional({ ...options, ...mailbox }),
      },
      { title: "NewTarget" },
    ),
    newEndpoint: Type.Object({ name: Name, url: Url, ...allOptional(options) }, { title: "NewEndpoint" }),
    targetChanges: Type.Object(allOptional({ ...changes, ...mailbox }), { title: "TargetChanges" }),
    endpointChanges: Type.Object(allOptional(changes), { title: "EndpointChanges" }),
  };
}

export type NewTarget = Static<ReturnType<typeof targetInputs>["newTarget"]>;
export type NewEndpoint = Static<ReturnType<typeof targetInputs>["newEndpoint"]>;
export type TargetChanges = Static<ReturnType<typeof targetInputs>["targetChanges"]>;

function allOptional<P extends Record<string, TSchema>>(properties: P) {
  return Type.Partial(Type.Object(properties)).properties;
}
