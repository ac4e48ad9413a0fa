import { Type } from "typebox";
import {
  described,
  Id,
  Moment,
  nullable,
  nullableInteger,
  nullableString,
  NullableString,
  oneOf,
  optionalBody,
  Timestamp,
} from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";
import { eventStatuses } from "../items/eventStatuses.ts";
import { targetKinds } from "../postgres/kinds.ts";
import { HandoffSummary } from "../handoff/record/handoffAnswer.ts";
import { Uid } from "../targets/record/names.ts";

const Status = oneOf(eventStatuses, "The states from UNREAD on are those of mailbox messages");

const replayedBy = nullable(
  Type.Object({ id: Id, status: Status, created_at: Timestamp }, { title: "LatestReplay" }),
  "The latest replay of this event or of one of its replays; null if there is none",
);

const optionalFields = {
  attempts: Type.Integer({ description: "Attempts made so far" }),
  last_status_code: nullableInteger(
    "The receiver's last HTTP status; 0 when it did not answer, null before the first attempt",
  ),
  next_attempt_at: nullable(
    Timestamp,
    "When the next attempt is due; null while an attempt is in progress, when none will follow, and while the target is disabled",
  ),
  duration_ms: nullableInteger("Duration of the last attempt; null before the first attempt"),
  replayed_by: replayedBy,
  handoff: nullable(
    HandoffSummary,
    "The agent's work on the item; null before the agent has accepted it, and for targets of other kinds",
  ),
};

export type OptionalField = keyof typeof optionalFields;

export const optionalFieldNames = Object.keys(optionalFields) as OptionalField[];

export const EventSummary = Type.Object(
  {
    id: Id,
    endpoint_id: Id,
    event_type: NullableString,
    status: Status,
    created_at: Timestamp,
    updated_at: Timestamp,
    ...Type.Partial(Type.Object(optionalFields)).properties,
  },
  { title: "EventSummary" },
);

export const Event = Type.Object(
  {
    id: Id,
    org_id: Id,
    endpoint_id: Type.String({ description: "The target's id, for targets of every kind" }),
    target_kind: oneOf(targetKinds),
    event_type: NullableString,
    correlation_id: NullableString,
    status: Status,
    attempts: optionalFields.attempts,
    max_attempts: Type.Integer({ description: "The first attempt and all retries" }),
    retry_count: Type.Integer({ description: "Attempts made after the first" }),
    max_retries: Type.Integer({ description: "The target's max_retries when the item was accepted" }),
    next_attempt_at: optionalFields.next_attempt_at,
    last_status_code: optionalFields.last_status_code,
    last_error: nullableString(
      "Why the last attempt failed; null when it succeeded, and before the first attempt",
    ),
    held: Type.Boolean({ description: "The item waits because its target is disabled" }),
    is_replay: Type.Integer({ minimum: 0, maximum: 1 }),
    source_event_id: NullableString,
    webhook_id: Type.String({
      description:
        "The webhook-id of its deliveries: the event's own id, or, for a replay, the source event's",
    }),
    replayed_by: replayedBy,
    replay_id: nullableString("The replay of many events that created this event"),
    publication_id: nullableString(
      "The publication that the item belongs to; null for an item sent alone, and after an erasure",
    ),
    erased_at: nullable(Timestamp, "When the erasure of its payload and answers was requested"),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Event" },
);

export const DeliveryAttempt = Type.Object(
  {
    id: Type.String({ pattern: "^da_[0-9a-f]{32}$" }),
    event_id: Id,
    status_code: Type.Integer({ description: "HTTP status of the answer; 0 when there was none" }),
    duration_ms: Type.Integer(),
    error: NullableString,
    attempted_at: Timestamp,
    response_body: nullableString("First KiB of the answer's body, as text"),
    request_headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          "The target's own headers of this attempt, with secret values as ***; absent when there were none",
        examples: [{ Authorization: "***", "X-Tenant": "shop-7" }],
      }),
    ),
  },
  { title: "DeliveryAttempt" },
);

export const EventId = textOf("id");

export const EventQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  offset: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 0,
    description: "Number of events to skip. A large number is slow; prefer the cursors `before` and `after`",
  }),
  order: Type.Unsafe<"desc" | "asc">({
    type: "string",
    enum: ["desc", "asc"],
    default: "desc",
    description: "desc: newest first; asc: oldest first",
  }),
  before: Type.Optional(described(EventId, "Only events older than the event with this id")),
  after: Type.Optional(
    described(
      EventId,
      "Only events newer than the event with this id: the next page in the order oldest first",
    ),
  ),
  endpoint_id: Type.Optional(Type.String({ description: "Only events of this target" })),
  target_id: Type.Optional(Type.String({ description: "The same as endpoint_id" })),
  customer_uid: Type.Optional(described(Uid, "Only events of targets of this customer")),
  status: Type.Optional(Status),
  event_type: Type.Optional(textOf("eventType", { description: "Only events of this type" })),
  correlation_id: Type.Optional(textOf("correlationId")),
  handoff_state: Type.Optional(
    textOf("handoffState", {
      description:
        "Only items of agents whose task has this state, such as WORKING, INPUT_REQUIRED or COMPLETED; a task whose outcome is UNKNOWN keeps its last state",
    }),
  ),
  created_after: Type.Optional(described(Moment, "Only events accepted at or after this, in Unix seconds")),
  created_before: Type.Optional(described(Moment, "Only events accepted before this, in Unix seconds")),
  replay_id: Type.Optional(described(EventId, "Only events that this replay of many events created")),
  fields: Type.Optional(
    Type.String({
      maxLength: 256,
      description: `Additional fields of each event, separated by commas: ${optionalFieldNames.join(", ")}`,
      examples: ["attempts,last_status_code"],
    }),
  ),
});

export const Replay = Type.Object(
  {
    id: Id,
    status: oneOf(["QUEUED", "UNREAD"], "UNREAD for mailboxes"),
    source_event_id: Id,
  },
  { title: "Replay" },
);

export const CanceledEvent = Type.Object(
  { id: Id, status: Type.Literal("CANCELED") },
  { title: "CanceledEvent" },
);

/** The choice of the `webhook-id` in the body of a replay. */
export const webhookIdField = {
  webhook_id: Type.Optional(
    oneOf(
      ["new"],
      "new: the deliveries get a new webhook-id, so that receivers process the event again. By default they keep the webhook-id of the source event, so that receivers that deduplicate process the event once",
    ),
  ),
};

export const ReplayBody = optionalBody(webhookIdField);
