import { type TargetKind } from "../postgres/kinds.ts";
import { type Static, type TSchema, Type } from "typebox";
import { MetadataField } from "./metadata.ts";
import { Uid } from "./uid.ts";
import { FilterField } from "../filters/schemas.ts";
import { lineOfText, linesOfText } from "../http/contract/plainText.ts";
import { Id, NullableString, NullableTimestamp, Timestamp } from "../http/contract/schemas.ts";

export const signingScheme = "standard-webhooks-v1";

const Kind = Type.Unsafe<TargetKind>({ type: "string", enum: ["webhook", "mailbox", "a2a"] });

/** What an a2a target has beside the others. */
const agent = {
  agent_card_url: Type.String(),
  auth: Type.Object({
    type: Type.String({ description: "bearer, api_key or none; token and value are never shown" }),
    header: Type.Optional(Type.String({ description: "With api_key: the header that carries the value" })),
  }),
  agent_name: Type.String({ description: "As the card says" }),
  agent_version: Type.String({ description: "As the card says" }),
  card_fetched_at: Type.Integer({ description: "When the card in use was last read, in Unix seconds" }),
  card_error: Type.Union([Type.String(), Type.Null()], {
    description: "Why the card could not be renewed since; the last good one stays in use",
  }),
  card_error_at: NullableTimestamp,
  card_signature: Type.String({
    description:
      "verified; unverified when no key could be had; invalid when the key does not fit the card; or none",
  }),
  card_signature_keys: Type.Union([Type.String(), Type.Null()], {
    description: "Whose keys verified the card: whoever controls this address vouches for it",
  }),
  card_signature_detail: NullableString,
  offered_origin: Type.Union([Type.String(), Type.Null()], {
    description: "Where a newer card moves the agent to, which waits for the owner's confirm_origin",
  }),
  result_target_id: Type.Union([Type.String(), Type.Null()], {
    description: "The mailbox or webhook target that receives the end of each task as an item",
  }),
};

/** What the owner of a webhook or agent sets of how it is sent to. */
const limits = {
  rate_limit_per_second: Type.Union([Type.Number({ minimum: 0.001, maximum: 10_000 }), Type.Null()], {
    description:
      "How many attempts may begin per second, retries among them, on all nodes together; null: as many as the receiver takes",
    examples: [50],
  }),
  rate_limit_burst: Type.Union([Type.Integer({ minimum: 1, maximum: 10_000 }), Type.Null()], {
    description:
      "How many attempts may begin at once after a pause; null: a tenth of a second's worth, at least one",
    examples: [10],
  }),
  max_concurrency: Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Null()], {
    description:
      "How many requests may be under way at a time, on all nodes together; null: POSTRIDER_TARGET_CONCURRENCY on each node",
    examples: [8],
  }),
};

const HeaderValue = Type.Object({
  value: Type.String({ maxLength: 4096 }),
  secret: Type.Optional(Type.Boolean({ description: "True unless told" })),
});

/** Headers as a request gives them. */
const HeadersInput = Type.Unsafe<Record<string, string | { value: string; secret?: boolean }>>(
  Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 4096 }), HeaderValue]), {
    maxProperties: 20,
    description:
      "Headers of its own for every attempt, in place of all that there were. A value alone is secret: it is stored sealed, and shown as ***; sent back as *** it stays. {value, secret: false} can be read again. What the service sets itself, or belongs to the connection, is refused",
    examples: [{ Authorization: "Bearer 6f1ed002ab55", "X-Tenant": { value: "shop-7", secret: false } }],
  }),
);

/** Headers as they are answered. */
const HeadersAnswer = Type.Unsafe<Record<string, string | { value: string; secret: boolean }>>(
  Type.Record(
    Type.String(),
    Type.Union([
      Type.String({ description: "***: a secret value" }),
      Type.Object({ value: Type.String(), secret: Type.Boolean() }),
    ]),
    {
      description: "Webhooks: headers of its own that each attempt carries",
      examples: [{ Authorization: "***", "X-Tenant": { value: "shop-7", secret: false } }],
    },
  ),
);

const HeldItems = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      "In the answer that enables a webhook or agent again: how many items waited for it. They are delivered from now on, or are CANCELED with discard_held. Beyond 100,000 it may be more.",
  }),
);

/** What enabling does, for the documentation of both routes that do it. */
export const enabling =
  "A webhook or agent that is disabled holds what comes. Enabling it again gives everything that waits the full retry schedule, at once, and says in held_items how much that is; with discard_held what waits becomes CANCELED in place of it.";

export const enablingRefusals = {
  409: "discard_held was asked of a target that is enabled, a bearer token would go to another origin than its agent card's, which needs confirm_origin, or secret headers would go to another origin, for which they have to be given again",
  503: "More waits than one request can discard: the target is still disabled, and the same request goes on",
};

/** A target as the interface answers it; `secret` only when it was just made. */
export const Target = Type.Object(
  {
    id: Id,
    kind: Kind,
    uid: Type.Optional(Type.String({ description: "Your own id of the target; absent when it has none" })),
    customer_uid: Type.Optional(
      Type.String({ description: "The customer that it belongs to; absent when it is no customer's" }),
    ),
    metadata: Type.Optional(MetadataField),
    filter: Type.Optional(FilterField),
    name: Type.String(),
    description: Type.String(),
    enabled: Type.Boolean(),
    disabled_reason: Type.Optional(
      Type.String({ description: "Why the service disabled the target by itself; absent otherwise" }),
    ),
    failing_since: Type.Optional(
      Type.Unsafe<number>({
        ...Timestamp,
        description: "Since when every attempt has failed; absent once one succeeds",
      }),
    ),
    url: Type.Optional(Type.String({ description: "Where deliveries go; absent on mailboxes" })),
    secret: Type.Optional(
      Type.String({ description: "The signing secret (`whsec_…`), shown once on creation and on rotation" }),
    ),
    held_items: HeldItems,
    signing_scheme: Type.Optional(Type.Literal(signingScheme)),
    has_previous_signing_secret: Type.Optional(
      Type.Boolean({ description: "True while a rotation is in progress and both secrets sign" }),
    ),
    previous_signing_secret_until: Type.Optional(
      Type.Unsafe<number>({
        ...Timestamp,
        description: "When the previous secret ends by itself; absent otherwise",
      }),
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
    ...allOptional(limits),
    headers: Type.Optional(HeadersAnswer),
    ...allOptional(agent),
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

/** What a PATCH of an endpoint answers: the fields that the contract lists, and what enabling says. */
export const PatchedEndpoint = Type.Object({
  ...Type.Pick(Endpoint, ["id", "name", "url", "description", "event_types", "enabled", "updated_at"])
    .properties,
  held_items: HeldItems,
});

const Name = lineOfText({ minLength: 1, maxLength: 256 });
const Url = Type.String({ minLength: 1, maxLength: 2048, examples: ["https://example.com/hooks"] });

const confirmedOrigin =
  "the origin that the token may go to, where the agent's interface is not of its card's own";

const ImportedSecret = Type.Optional(
  Type.String({
    maxLength: 128,
    description:
      "Webhooks: a signing secret that receivers know already (whsec_ and 24 to 64 bytes in base64); a new one is made unless given",
  }),
);

const maxRotationSeconds = 30 * 86_400;

const RotationFields = Type.Object(
  {
    secret: ImportedSecret,
    previous_secret_ends_in_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxRotationSeconds,
        description:
          "When the previous secret ends by itself, give or take a minute; unless given, when it is deleted",
        examples: [86_400],
      }),
    ),
  },
  { title: "Rotation" },
);

/** What a rotation may say; nothing is needed. */
export const RotationBody = Type.Union([RotationFields, Type.Null()]);
export type Rotation = Static<typeof RotationFields>;

/** What an organization calls a target, notes about it, and which items it gets. */
const names = {
  uid: nullable(Uid, "Your own id of the target, which no other of yours has"),
  customer_uid: nullable(Uid, "The customer that the target belongs to, which is deleted with it"),
  metadata: Type.Union([MetadataField, Type.Null()]),
  filter: Type.Union([FilterField, Type.Null()]),
};

/** What is set of an agent. */
const agentOptions = {
  confirm_origin: Type.String({
    maxLength: 2048,
    description: `With a bearer token or an API key: ${confirmedOrigin}`,
  }),
  auth: Type.Object({
    type: Type.String({ description: "bearer, api_key or none" }),
    token: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, pattern: "^[!-~]*$", description: "With bearer" }),
    ),
    header: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: "With api_key: such as X-API-Key" }),
    ),
    value: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: "With api_key" })),
  }),
  result_target_id: Type.Union([Type.String({ pattern: "^[0-9a-f]{32}$" }), Type.Null()], {
    description: "A mailbox or webhook target that receives the end of each task as an item; null for none",
  }),
};

/** The bodies that create and change targets; `max_payload_bytes` is bounded by the service's own limit. */
export function targetInputs(maxBodyBytes: number) {
  const options = {
    description: linesOfText({ maxLength: 4096 }),
    event_types: Type.Array(
      Type.String({ minLength: 1, maxLength: 256, pattern: "^[ -~]*$", description: "Printable ASCII" }),
      {
        maxItems: 100,
        description:
          "Which event types are delivered: each entry is a type, or a prefix as in invoice.*. Empty means all",
      },
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
  const discardHeld = Type.Boolean({
    description: "With enabled: true, cancels everything that waits for the target before it is enabled",
  });
  const changes = {
    name: Name,
    url: Url,
    enabled: Type.Boolean(),
    discard_held: discardHeld,
    ...options,
  };
  return {
    newTarget: Type.Object(
      {
        kind: Type.String({ description: "webhook, mailbox or a2a" }),
        name: Name,
        url: Type.Optional(Url),
        agent_card_url: Type.Optional(Url),
        headers: Type.Optional(HeadersInput),
        secret: ImportedSecret,
        ...allOptional({ ...options, ...limits, ...mailbox, ...agentOptions, ...names }),
      },
      { title: "NewTarget" },
    ),
    newEndpoint: Type.Object({ name: Name, url: Url, ...allOptional(options) }, { title: "NewEndpoint" }),
    targetChanges: Type.Object(
      {
        headers: Type.Optional(Type.Union([HeadersInput, Type.Null()], { description: "null: none" })),
        ...allOptional({ ...changes, ...limits, ...mailbox, ...agentOptions, ...names }),
      },
      { title: "TargetChanges" },
    ),
    endpointChanges: Type.Object(allOptional(changes), { title: "EndpointChanges" }),
  };
}

/** What the owner agrees to when a card is read again. */
export const Consent = Type.Union([
  Type.Object(
    {
      confirm_origin: Type.Optional(
        Type.String({
          maxLength: 2048,
          description: "The origin that the bearer token may go to from now on, as offered_origin says",
        }),
      ),
      confirm_signature: Type.Optional(
        Type.String({ description: "unverified, invalid or none: to use a card that was verified before" }),
      ),
    },
    { title: "Consent" },
  ),
  Type.Null(),
]);

/** Which targets are listed. */
export const TargetQuery = Type.Object({
  kind: Type.Optional(Kind),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "All unless given" })),
  after: Type.Optional(
    Type.Unsafe<string>({ ...Id, description: "The id of the last target of the page before" }),
  ),
  customer_uid: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9._:-]{0,128}$",
      description: "Only those of this customer; empty: only those of none",
    }),
  ),
  uid: Type.Optional(Type.Unsafe<string>({ ...Uid, description: "Only the one that you call this" })),
});

export type NewTarget = Static<ReturnType<typeof targetInputs>["newTarget"]>;
export type NewEndpoint = Static<ReturnType<typeof targetInputs>["newEndpoint"]>;
export type TargetChanges = Static<ReturnType<typeof targetInputs>["targetChanges"]>;

function nullable<S extends TSchema>(schema: S, description: string) {
  return Type.Union([schema, Type.Null()], { description });
}

function allOptional<P extends Record<string, TSchema>>(properties: P) {
  return Type.Partial(Type.Object(properties)).properties;
}
