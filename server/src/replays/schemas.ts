import { Type } from "typebox";
import {
  described,
  Id,
  Moment,
  nullable,
  nullableInteger,
  oneOf,
  pageBefore,
  Timestamp,
} from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";
import { replayableStatuses } from "../items/eventStatuses.ts";
import { EventId, webhookIdField } from "../events/schemas.ts";

export const rates = { least: 1, most: 1_000, default: 50 } as const;

/** The filter of a replay. An event must match all given fields, in the state it had when the replay was started. */
export const ReplayFilter = Type.Object(
  {
    target_id: Type.Optional(EventId),
    status: Type.Optional(oneOf(replayableStatuses)),
    event_type: Type.Optional(textOf("eventType")),
    correlation_id: Type.Optional(textOf("correlationId")),
    created_after: Type.Optional(described(Moment, "Accepted at or after this, in Unix seconds")),
    created_before: Type.Optional(described(Moment, "Accepted before this, in Unix seconds")),
  },
  { title: "ReplayFilter" },
);

export const NewReplay = Type.Object(
  {
    filter: ReplayFilter,
    rate_per_second: Type.Optional(
      Type.Integer({
        minimum: rates.least,
        maximum: rates.most,
        description: `Maximum number of events that are replayed per second. Default: ${rates.default}`,
      }),
    ),
    include_replayed: Type.Optional(
      Type.Boolean({
        description:
          "With the status FAILED or DEAD: also replay events that already have a replay in progress or a successful replay, and failed replays of events that are themselves replayed",
      }),
    ),
    ...webhookIdField,
    dry_run: Type.Optional(
      Type.Boolean({ description: "Only count the events that match the filter; nothing is replayed" }),
    ),
  },
  { title: "NewReplay" },
);

export const DryRun = Type.Object(
  {
    count: Type.Integer({ description: "Number of events that match the filter" }),
    count_is_exact: Type.Boolean({
      description: "False if counting stopped early: `count` is a lower bound",
    }),
    sample: Type.Array(Id, { description: "Ids of some of the events, oldest first for each target" }),
  },
  { title: "DryRun" },
);

export const ReplayJob = Type.Object(
  {
    id: Id,
    status: oneOf(
      ["RUNNING", "DONE", "CANCELED"],
      "`DONE`: each event was replayed or skipped; deliveries can still be in progress",
    ),
    filter: ReplayFilter,
    include_replayed: Type.Boolean(),
    rate_per_second: Type.Integer(),
    total: nullableInteger("Number of events that match the filter; null until they are counted"),
    replayed: Type.Integer({ description: "Number of new events created" }),
    delivered: Type.Integer({ description: "New events that are DELIVERED or ACKNOWLEDGED so far" }),
    failed: Type.Integer({ description: "New events that ended with another status so far" }),
    skipped: Type.Integer({ description: "Matching events that cannot be replayed" }),
    skipped_reasons: Type.Object(
      {
        still_waiting: Type.Integer({ description: "Events that had not ended when the replay was started" }),
        target_deleted: Type.Integer(),
        mailbox_disabled: Type.Integer(),
        expired: Type.Integer({ description: "Events whose payload is no longer stored" }),
      },
      { title: "SkippedReasons" },
    ),
    created_by: Type.String({
      description: "The email of the user, or the name and the prefix of the API key",
    }),
    created_at: Timestamp,
    finished_at: nullable(Timestamp),
  },
  { title: "ReplayJob" },
);

export const ReplayQuery = pageBefore("replays");
