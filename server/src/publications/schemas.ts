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

const Status = oneOf(["QUEUED", "UNREAD"], "`UNREAD` for mailboxes, `QUEUED` for other targets");

/** The answer to a publication: its id and its items. */
export const AcceptedPublication = Type.Object(
  {
    id: Id,
    items: Type.Array(Type.Object({ id: Id, target_id: Id, status: Status }), {
      description: "One item for each target that the publication reached",
    }),
  },
  { title: "AcceptedPublication" },
);

const summary = {
  id: Id,
  customer_uid: nullable(Uid, "null for a publication to the targets that belong to no customer"),
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
      "The latest replay of this item; null if it was not replayed",
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
  customer_uid: Type.Optional(described(Uid, "Only publications to this customer")),
});

export const PublicationReplayInput = Type.Object(
  {
    to: oneOf(
      ["failed", "added"],
      "`failed`: replay the items that are FAILED or DEAD, without billing. Items that already have a replay in progress or a successful replay are left out. `added`: create new items for the targets that the publication would reach now and did not reach before",
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
        source_event_id: nullable(Id, "The replayed item; null for an added target"),
      }),
    ),
    skipped: Type.Array(
      Type.Object({
        event_id: Id,
        reason: oneOf(["target_deleted", "mailbox_disabled", "expired", "erased"]),
      }),
      { description: "Failed items that can no longer be delivered" },
    ),
  },
  { title: "PublicationReplay" },
);
