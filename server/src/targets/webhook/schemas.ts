import { type Static, Type } from "typebox";
import { described, nullable, Timestamp } from "../../http/contract/schemas.ts";
import { textOf } from "../../http/contract/textForms.ts";
import { deliveryAnswer, deliveryFields, discardHeld, Url } from "../record/fields.ts";
import type { HeadersAnswer, HeadersInput } from "../record/headers.ts";

export const signingScheme = "standard-webhooks-v1";

const HeaderValue = Type.Object({
  value: Type.String({ maxLength: 4096 }),
  secret: Type.Optional(Type.Boolean({ description: "Default: true" })),
});

const Headers = Type.Unsafe<HeadersInput>(
  Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 4096 }), HeaderValue]), {
    maxProperties: 20,
    description:
      "Additional headers of every attempt; replaces all headers of the target. A value given as text is secret: it is stored encrypted and shown as ***; sending back *** keeps it. {value, secret: false} stays readable. Headers that the service sets itself, or that belong to the connection, are refused",
    examples: [{ Authorization: "Bearer 6f1ed002ab55", "X-Tenant": { value: "shop-7", secret: false } }],
  }),
);

const ShownHeaders = Type.Unsafe<HeadersAnswer>(
  Type.Record(
    Type.String(),
    Type.Union([
      Type.String({ description: "`***` in place of a secret value" }),
      Type.Object({ value: Type.String(), secret: Type.Boolean() }),
    ]),
    {
      description: "For webhooks: additional headers of each attempt",
      examples: [{ Authorization: "***", "X-Tenant": { value: "shop-7", secret: false } }],
    },
  ),
);

const ImportedSecret = Type.String({
  maxLength: 128,
  description:
    "For webhooks: an existing signing secret (whsec_ and 24 to 64 bytes in base64); without it, a new one is generated",
});

const maxRotationSeconds = 30 * 86_400;

const RotationFields = Type.Object(
  {
    secret: Type.Optional(ImportedSecret),
    previous_secret_ends_in_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxRotationSeconds,
        description:
          "When the previous secret ends, to within a minute; without it, the previous secret stays until it is deleted",
        examples: [86_400],
      }),
    ),
  },
  { title: "Rotation" },
);

/** The optional body of a rotation. */
export const RotationBody = nullable(RotationFields);
export type Rotation = Static<typeof RotationFields>;

/** Fields that legacy endpoints have, too. */
export const endpointFields = {
  url: Url,
  event_types: Type.Array(
    textOf("printable", { minLength: 1, maxLength: 256, description: "Printable ASCII" }),
    {
      maxItems: 100,
      description:
        "Which event types are delivered: each entry is a type, or a prefix as in invoice.*. Default: empty, which means all types",
    },
  ),
};

export const webhookFields = {
  created: { ...endpointFields, headers: Headers, secret: ImportedSecret, ...deliveryFields },
  changed: {
    ...endpointFields,
    headers: nullable(Headers, "null: none"),
    discard_held: discardHeld,
    ...deliveryFields,
  },
  answered: {
    signing_scheme: Type.Literal(signingScheme),
    has_previous_signing_secret: Type.Boolean({
      description: "True while a rotation is in progress and deliveries are signed with both secrets",
    }),
    previous_signing_secret_until: described(
      Timestamp,
      "When the previous secret ends; absent if no end is set",
    ),
    event_types: Type.Array(Type.String(), { description: "Empty: all types" }),
    ...deliveryAnswer,
    headers: ShownHeaders,
  },
};
