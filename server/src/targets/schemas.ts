import { type Static, type TProperties, Type } from "typebox";
import { FilterField } from "../filters/schemas.ts";
import { described, Id, nullable, oneOf, Timestamp } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";
import { targetKinds } from "../postgres/kinds.ts";
import { fieldsOf } from "./kinds.ts";
import { allOptional, commonFields, createdEnabled, HeldItems, Name, nameFields } from "./record/fields.ts";
import { MetadataField, Uid } from "./record/names.ts";

const Kind = oneOf(targetKinds);

/** The description shared by both routes that enable a target. */
export const enabling =
  "A disabled webhook or agent holds new items. Enabling it again makes all waiting items due at once, with their full retry schedule, and returns their number in held_items; with discard_held they become CANCELED instead.";

export const enablingRefusals = {
  409: "The request has discard_held and the target is enabled; or the agent's interface has another origin than its card, and confirm_origin must name that origin before the credential is sent there; or the new URL has another origin, and the request must contain the secret headers again",
  503: "More items wait than one request can discard: the target is still disabled; repeat the request to discard the rest",
};

const common = {
  id: Id,
  kind: Kind,
  uid: Type.Optional(Type.String({ description: "Your own id of the target; absent if none was set" })),
  customer_uid: Type.Optional(
    Type.String({ description: "The customer that the target belongs to; absent when it belongs to none" }),
  ),
  metadata: Type.Optional(MetadataField),
  filter: Type.Optional(FilterField),
  name: Type.String(),
  description: Type.String(),
  enabled: Type.Boolean(),
  disabled_reason: Type.Optional(
    Type.String({ description: "Why the service disabled the target; absent otherwise" }),
  ),
  failing_since: Type.Optional(
    described(Timestamp, "Since when all attempts have failed; absent once an attempt succeeds"),
  ),
  url: Type.Optional(Type.String({ description: "URL of deliveries; absent on mailboxes" })),
  secret: Type.Optional(
    Type.String({ description: "The signing secret (`whsec_…`), shown once on creation and on rotation" }),
  ),
  held_items: HeldItems,
};

/** A target in answers; `secret` only if it was just created. */
export const Target = Type.Object(
  {
    ...common,
    ...inOrder(
      "signing_scheme has_previous_signing_secret previous_signing_secret_until event_types max_payload_bytes max_retries retry_interval_seconds max_claims",
      allOptional(fieldsOf("answered")),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Target" },
);

/** The bodies that create and change targets. The service's own limit bounds `max_payload_bytes`. */
export function targetInputs(maxBodyBytes: number) {
  const common = { ...commonFields(maxBodyBytes), ...nameFields };
  return {
    newTarget: Type.Object(
      inOrder(
        "kind name url agent_card_url headers secret description enabled event_types max_payload_bytes",
        {
          kind: Kind,
          name: Name,
          ...allOptional({ ...fieldsOf("created"), ...common, enabled: createdEnabled }),
        },
      ),
      { title: "NewTarget" },
    ),
    targetChanges: Type.Object(
      inOrder(
        "headers name url enabled discard_held description event_types max_payload_bytes",
        allOptional({ ...fieldsOf("changed"), ...common, name: Name, enabled: Type.Boolean() }),
      ),
      { title: "TargetChanges" },
    ),
  };
}

/** Fields in the order of the interface's document: the named fields first, then the others in their own order. */
function inOrder<Properties extends TProperties>(names: string, properties: Properties): Properties {
  const first = names.split(" ").map((name) => [name, properties[name]]);
  return { ...Object.fromEntries(first), ...properties } as Properties;
}

/** The owner's consent to a changed agent card. */
export const Consent = nullable(
  Type.Object(
    {
      confirm_origin: Type.Optional(
        Type.String({
          maxLength: 2048,
          description:
            "Allows the service to send the credential to this new origin: the value of offered_origin",
        }),
      ),
      confirm_signature: Type.Optional(
        Type.String({
          description: "unverified, invalid or none: confirms the use of a card that was verified before",
        }),
      ),
    },
    { title: "Consent" },
  ),
);

export const TargetQuery = Type.Object({
  kind: Type.Optional(Kind),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: "Page size; without it, all targets are listed",
    }),
  ),
  after: Type.Optional(described(Id, "The id of the last target of the previous page")),
  customer_uid: Type.Optional(
    textOf("uidOrEmpty", {
      description: "Only targets of this customer; an empty value lists targets without a customer",
    }),
  ),
  uid: Type.Optional(described(Uid, "Only the target with this uid")),
});

export type NewTarget = Static<ReturnType<typeof targetInputs>["newTarget"]>;
export type TargetChanges = Static<ReturnType<typeof targetInputs>["targetChanges"]>;
