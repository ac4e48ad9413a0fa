import { Type } from "typebox";
import { NullableString } from "../http/contract/schemas.ts";

export const TestItem = Type.Union([
  Type.Object(
    {
      event_type: Type.Optional(
        Type.String({
          pattern: "^[ -~]{1,256}$",
          description: "For `x-event-type`; `postrider.test` unless given",
        }),
      ),
      payload: Type.Optional(Type.Unknown({ description: "What to send, any JSON; a sample unless given" })),
    },
    { title: "TestItem" },
  ),
  Type.Null(),
]);

export const TestResult = Type.Object(
  {
    event_id: Type.String({
      pattern: "^[0-9a-f]{32}$",
      description: "What the receiver got as `webhook-id`; there is no event of this id to be read",
    }),
    is_test: Type.Literal(true),
    delivered: Type.Boolean({ description: "Whether the receiver answered 2xx" }),
    attempt: Type.Object({
      status_code: Type.Integer({ description: "0 when there was no answer" }),
      duration_ms: Type.Integer(),
      error: NullableString,
      response_body: Type.Union([Type.String(), Type.Null()], {
        description: "The first KiB of the answer, as text",
      }),
    }),
  },
  { title: "TestResult" },
);
