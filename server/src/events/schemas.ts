import { Type } from "typebox";
import { Id, NullableString, Timestamp } from "../http/contract/schemas.ts";
import { type EventStatus, eventStatuses } from "./statuses.ts";

const Status = Type.Unsafe<EventStatus>({
  type: "string",
  enum: [...eventStatuses],
  description: "From UNREAD on: what mailbox messages are",
});

/** An event in a list. */
export const EventSummary = Type.Object(
  {
    id: Id,
    endpoint_id: Id,
    event_type: NullableString,
    status: Status,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "EventSummary" },
);

export const Event = Type.Object(
  {
    id: Id,
    org_id: Id,
    endpoint_id: Type.String({ description: "The target's id, whatever its kind" }),
    target_kind: Type.Unsafe<"webhook" | "mailbox" | "a2a">({
      type: "string",
      enum: ["webhook", "mailbox", "a2a"],
    }),
    event_type: NullableString,
    correlation_id: NullableString,
    status: Status,
    retry_count: Type.Integer({ description: "Attempts made after the first" }),
    max_retries: Type.Integer({ description: "As its target had it when the item was accepted" }),
    next_attempt_at: Type.Union([Timestamp, Type.Null()], {
      description:
        "When the next attempt is due; null when one is under way, its target is disabled, or none will follow",
    }),
    is_replay: Type.Integer({ minimum: 0, maximum: 1 }),
    source_event_id: NullableString,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Event" },
);

export const DeliveryAttempt = Type.Object(
  {
    id: Type.String({ pattern: "^da_[0-9a-f]{32}$" }),
    event_id: Id,
    status_code: Type.Integer({ description: "0 when there was no answer" }),
    duration_ms: Type.Integer(),
    error: NullableString,
    attempted_at: Timestamp,
    response_body: Type.Union([Type.String(), Type.Null()], {
      description: "The first KiB of the answer, as text",
    }),
  },
  { title: "DeliveryAttempt" },
);

export const EventQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  offset: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 0,
    description: "What is skipped costs time; `before` does not",
  }),
  before: Type.Optional(
    Type.String({ pattern: "^[0-9a-f]{32}$", description: "Only events older than the one with this id" }),
  ),
  endpoint_id: Type.Optional(Type.String({ description: "Only events of this target" })),
  target_id: Type.Optional(Type.String({ description: "The same as endpoint_id" })),
  status: Type.Optional(Status),
  correlation_id: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9_-]{1,128}$" })),
});

export const Replay = Type.Object(
  {
    id: Id,
    status: Type.String({ description: "QUEUED; UNREAD in a mailbox" }),
    source_event_id: Id,
  },
  { title: "Replay" },
);
