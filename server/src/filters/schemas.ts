import { Type } from "typebox";
import { oneOf } from "../http/contract/schemas.ts";

const examples = [
  {
    payload: { amount: [{ numeric: [">=", 100] }], currency: ["EUR", "CHF"] },
    metadata: { event_type: [{ prefix: "invoice." }] },
  },
];

export const FilterField = Type.Unsafe<Record<string, unknown>>(
  Type.Record(Type.String(), Type.Unknown(), {
    description:
      "Which items the target gets: a pattern in the grammar of Amazon EventBridge (values, prefix, suffix, equals-ignore-case, anything-but, numeric, exists, $or) over `payload`, the JSON that was posted, and `metadata` (event_type, correlation_id, ordering_key). At most 4 KiB",
    examples,
  }),
);

const metadataField = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }));

export const FilterTrial = Type.Object(
  {
    filter: FilterField,
    payload: Type.Unknown({
      description: "Any JSON",
      examples: [{ amount: 80, currency: "EUR" }],
    }),
    event_type: metadataField("As X-Event-Type; the payload's own event_type comes before it"),
    correlation_id: metadataField("As X-Correlation-ID"),
    ordering_key: metadataField("As X-Ordering-Key"),
  },
  { title: "FilterTrial" },
);

export const FilterResult = Type.Object(
  {
    verdict: oneOf(
      ["matches", "differs", "undecided"],
      "undecided: the sample is too large for this filter; such an item is let through, as one that matches",
    ),
    failed: Type.Array(
      Type.Object({
        path: Type.String({ description: "Where it stands in the filter" }),
        expected: Type.Unknown({ description: "What the filter asks for there" }),
        found: Type.Array(Type.Unknown(), {
          description: "Up to ten values that the sample has there; none where the field is absent",
        }),
      }),
      { description: "The parts of the filter that the sample does not match" },
    ),
  },
  { title: "FilterResult" },
);
