import { type Static, type TProperties, Type } from "typebox";
import { FilterField } from "../../filters/schemas.ts";
import { lineOfText, linesOfText } from "../../http/contract/plainText.ts";
import { MetadataField, Uid } from "./names.ts";
import { invalid, type Refused } from "./refusal.ts";
import { fieldsOf, nullable } from "../../http/contract/schemas.ts";

/** Values of these fields, all optional. */
export type Given<Fields extends TProperties> = {
  [Name in keyof Fields]?: Static<Fields[Name]> | undefined;
};

export const Name = lineOfText({ minLength: 1, maxLength: 256 });
export const Url = Type.String({ minLength: 1, maxLength: 2048, examples: ["https://example.com/hooks"] });

/** Fields of every kind for creations and changes. The service's own limit bounds `max_payload_bytes`. */
export function commonFields(maxBodyBytes: number) {
  return {
    description: linesOfText({ maxLength: 4096 }),
    max_payload_bytes: Type.Integer({ minimum: 1, maximum: maxBodyBytes }),
  };
}

/** The uid, customer and metadata of a target, and the filter of its items. */
export const nameFields = {
  uid: nullable(Uid, "Your own unique id of the target"),
  customer_uid: nullable(
    Uid,
    "The customer that the target belongs to; deleting the customer deletes the target",
  ),
  metadata: nullable(MetadataField),
  filter: nullable(FilterField),
};

const limits = {
  rate_limit_per_second: Type.Union([Type.Number({ minimum: 0.001, maximum: 10_000 }), Type.Null()], {
    description: "Attempts per second, including retries, on all nodes together; null: no rate limit",
    examples: [50],
  }),
  rate_limit_burst: Type.Union([Type.Integer({ minimum: 1, maximum: 10_000 }), Type.Null()], {
    description:
      "Burst: attempts that may begin at once after a pause; null: a tenth of a second's worth, at least one",
    examples: [10],
  }),
  max_concurrency: Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Null()], {
    description:
      "Concurrent requests, on all nodes together; null: POSTRIDER_TARGET_CONCURRENCY on each node",
    examples: [8],
  }),
};

/** Fields of the kinds that items are sent to: the retry schedule and the limits of rate and concurrency. */
export const deliveryFields = {
  max_retries: Type.Integer({
    minimum: 0,
    maximum: 50,
    description: "Attempts after the first. Default for a new target: 8",
  }),
  retry_interval_seconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description:
      "Delay before the first retry; each later retry waits three times as long as the previous retry. Default for a new target: 30",
  }),
  ...limits,
};

/** Whether a target is enabled from its creation on. */
export const createdEnabled = Type.Boolean({ description: "Default: true" });

/** A field of changes, only for kinds that hold items. */
export const discardHeld = Type.Boolean({
  description: "With enabled: true, cancels all items that wait for the target before it is enabled",
});

/** A field of the answer to a change that enables a target again. */
export const HeldItems = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      "Only in the answer that enables a webhook or agent again: the number of items that waited for the target. They are delivered from now on, or are CANCELED with discard_held. Above 100,000 the real number may be larger.",
  }),
);

/** Fields of the answer for kinds to which items are sent. */
export const deliveryAnswer = {
  max_payload_bytes: Type.Integer(),
  max_retries: Type.Integer(),
  retry_interval_seconds: Type.Integer(),
  ...limits,
};

const DeliveryAnswer = Type.Object(deliveryAnswer);

/** A target's values of {@link deliveryAnswer}. */
export function deliveryValues(target: Static<typeof DeliveryAnswer>): typeof target {
  return fieldsOf(DeliveryAnswer, target);
}

/** The rate limits of a target in a request; an undefined limit is not changed. */
export type RateInput = Pick<Given<typeof limits>, "rate_limit_per_second" | "rate_limit_burst">;

/**
 * The columns that a change of the rate sets. A target without a rate has no burst.
 * @param present the target's rate before the change.
 */
export function rateColumns(
  { rate_limit_per_second: perSecond, rate_limit_burst: burst }: RateInput,
  present: number | null,
): { ok: true; columns: Partial<Record<keyof RateInput, number | null>> } | Refused {
  const after = perSecond === undefined ? present : perSecond;
  if (after === null && typeof burst === "number") {
    return invalid("rate_limit_burst needs rate_limit_per_second");
  }
  const columns = {
    ...(perSecond !== undefined && { rate_limit_per_second: perSecond }),
    ...(burst !== undefined && { rate_limit_burst: burst }),
    ...(perSecond === null && { rate_limit_burst: null }),
  };
  return { ok: true, columns };
}

export function allOptional<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties)).properties;
}
