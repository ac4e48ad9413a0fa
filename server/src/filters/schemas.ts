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
      "Selects the target's items: a pattern in the grammar of Amazon EventBridge (values, prefix, suffix, equals-ignore-case, anything-but, numeric, exists, $or) over `payload`, the JSON that was posted, and `metadata` (event_type, correlation_id, ordering_key). At most 4 KiB",
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
    event_type: metadataField("Like X-Event-Type; event_type in the payload has precedence"),
    correlation_id: metadataField("Like X-Correlation-ID"),
    ordering_key: metadataField("Like X-Ordering-Key"),
  },
  { title: "FilterTrial" },
);

export const FilterResult = Type.Object(
  {
    verdict: oneOf(
      ["matches", "differs", "undecided"],
      "undecided: the sample is too large for this filter; such an item passes, like one that matches",
    ),
    failed: Type.Array(
      Type.Object({
        path: Type.String({ description: "Path of the failed part in the filter" }),
        expected: Type.Unknown({ description: "The condition at this position" }),
        found: Type.Array(Type.Unknown(), {
          description: "Up to ten values of the sample at this position; none when the field is absent",
        }),
      }),
      { description: "The parts of the filter that the sample does not match" },
    ),
  },
  { title: "FilterResult" },
);
