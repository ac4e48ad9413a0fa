import { type Static, Type } from "typebox";
import { EventSummary, webhookIdField } from "../events/schemas.ts";
import {
  described,
  Id,
  nullable,
  NullableString,
  oneOf,
  pageBefore,
  Timestamp,
} from "../http/contract/schemas.ts";
import { Uid } from "../targets/record/names.ts";

const Status = oneOf(["QUEUED", "UNREAD"], "UNREAD for mailboxes");

/** The answer to a publication: its id and its items. */
export const AcceptedPublication = Type.Object(
  {
    id: Id,
    items: Type.Array(Type.Object({ id: Id, target_id: Id, status: Status }), {
      description: "One for each target that it reached",
    }),
  },
  { title: "AcceptedPublication" },
);

const summary = {
  id: Id,
  customer_uid: nullable(Uid, "Null for targets that belong to no customer"),
  event_type: NullableString,
  correlation_id: NullableString,
  item_count: Type.Integer(),
  created_at: Timestamp,
};

export const PublicationSummary = Type.Object(summary, { title: "PublicationSummary" });
export type PublicationSummary = Static<typeof PublicationSummary>;

/** An item of a publication, with all optional fields of lists of events. */
const PublicationItem = Type.Object(
  {
    ...EventSummary.properties,
    latest_replay: nullable(
      Type.Object({ id: Id, status: EventSummary.properties.status }),
      "The last item that repeats this one; null where it was not replayed",
    ),
  },
  { title: "PublicationItem" },
);

export const Publication = Type.Object(
  {
    ...summary,
    items: Type.Array(PublicationItem, { description: "Newest first" }),
  },
  { title: "Publication" },
);

export const PublicationQuery = Type.Object({
  ...pageBefore("publications").properties,
  customer_uid: Type.Optional(described(Uid, "Only those of this customer")),
});

export const PublicationReplayInput = Type.Object(
  {
    to: oneOf(
      ["failed", "added"],
      "`failed`: the items that failed or are dead are delivered once more, unbilled, unless a replay of them is under way or went through. `added`: new items for the targets that would be reached now and were not",
    ),
    ...webhookIdField,
  },
  { title: "PublicationReplayInput" },
);

export const PublicationReplay = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        id: Id,
        target_id: Id,
        status: Status,
        source_event_id: nullable(Id, "The item that is repeated; null for an added target"),
      }),
    ),
    skipped: Type.Array(
      Type.Object({
        event_id: Id,
        reason: oneOf(["target_deleted", "mailbox_disabled", "expired", "erased"]),
      }),
      { description: "Failed items that cannot be delivered any more" },
    ),
  },
  { title: "PublicationReplay" },
);
