import { Type } from "typebox";
import {
  described,
  Id,
  Moment,
  nullableInteger,
  NullableTimestamp,
  oneOf,
  pageBefore,
  Timestamp,
} from "../http/contract/schemas.ts";
import { replayableStatuses } from "../items/eventStatuses.ts";
import { EventId, webhookIdField } from "../events/schemas.ts";

export const rates = { least: 1, most: 1_000, default: 50 } as const;

/** The filter of a replay. An event must match all given fields, in the state it had when the replay was started. */
export const ReplayFilter = Type.Object(
  {
    target_id: Type.Optional(EventId),
    status: Type.Optional(oneOf(replayableStatuses)),
    event_type: Type.Optional(Type.String({ pattern: "^[ -~]{1,256}$" })),
    correlation_id: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9_-]{1,128}$" })),
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
        description: `How many events are replayed a second at most; ${rates.default} unless given`,
      }),
    ),
    include_replayed: Type.Optional(
      Type.Boolean({
        description:
          "With the status FAILED or DEAD: also those that have a replay which is under way or went through, and failed replays of what is replayed itself",
      }),
    ),
    ...webhookIdField,
    dry_run: Type.Optional(Type.Boolean({ description: "Only says how many events fit" })),
  },
  { title: "NewReplay" },
);

export const DryRun = Type.Object(
  {
    count: Type.Integer({ description: "How many events fit" }),
    count_is_exact: Type.Boolean({ description: "False where counting ended early: there are more" }),
    sample: Type.Array(Id, { description: "Some of them, the oldest of a target first" }),
  },
  { title: "DryRun" },
);

export const ReplayJob = Type.Object(
  {
    id: Id,
    status: oneOf(
      ["RUNNING", "DONE", "CANCELED"],
      "DONE: everything in the set was replayed or skipped; deliveries may still be under way",
    ),
    filter: ReplayFilter,
    include_replayed: Type.Boolean(),
    rate_per_second: Type.Integer(),
    total: nullableInteger("How many events are in the set; null until they are counted"),
    replayed: Type.Integer({ description: "New events made" }),
    delivered: Type.Integer({ description: "Of these, DELIVERED or ACKNOWLEDGED so far" }),
    failed: Type.Integer({ description: "Of these, ended in any other way so far" }),
    skipped: Type.Integer({ description: "Events of the set that cannot be replayed" }),
    skipped_reasons: Type.Object(
      {
        still_waiting: Type.Integer({ description: "They had not ended when the replay was started" }),
        target_deleted: Type.Integer(),
        mailbox_disabled: Type.Integer(),
        expired: Type.Integer({ description: "Their payload is gone" }),
      },
      { title: "SkippedReasons" },
    ),
    created_by: Type.String({ description: "A user's address, or an API key's name and prefix" }),
    created_at: Timestamp,
    finished_at: NullableTimestamp,
  },
  { title: "ReplayJob" },
);

export const ReplayQuery = pageBefore("replays");
